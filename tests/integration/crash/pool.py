"""The pool: one stock for which all clients compete, so that it is full most of the time.

What a single client is answered depends on the others here. So the members keep accounts: what was acknowledged is there, what is in flight
may be, and after it was sent again the sum is exact.
"""

from collections import Counter

from crash.book import split

LIMIT = "pool"
AMOUNT = 60
KEYS = ("p0", "p1", "p2")


class Member:
    """One client's part in it."""

    def __init__(self, client, random):
        self.client = client
        self.random = random
        self.ids = 0
        self.used = Counter()   # key → units, as acknowledged
        self.held = Counter()
        self.spendable = []     # (key, units) that were taken, and not given back by what was sent
        self.open_holds = {}    # id → (key, units), and not ended by what was sent
        self.ending = {}        # the same, while the end is in flight

    def next(self):
        makers = [self._take, self._hold, self._look]
        if self.spendable:
            makers += [self._give] * 2
        if self.open_holds:
            makers += [self._end] * 2
        return self.random.choice(makers)()

    def _id(self):
        self.ids += 1
        return f"pool.{self.client}.{self.ids}"

    def _meter(self):
        return LIMIT, self.random.choice(KEYS), "COST", self.random.randint(1, 9)

    def _take(self):
        return ("TAKE", *self._meter(), "ID", self._id())

    def _hold(self):
        return ("HOLD", *self._meter(), "TTL", "10h", "ID", self._id(), "TAG", LIMIT)

    def _give(self):
        key, units = self.spendable.pop(self.random.randrange(len(self.spendable)))
        return ("GIVE", LIMIT, key, "COST", units, "ID", self._id())

    def _end(self):
        id = self.random.choice(list(self.open_holds))
        self.ending[id] = self.open_holds.pop(id)
        return (self.random.choice(("COMMIT", "CANCEL")), id)

    def _look(self):
        return ("USAGE", LIMIT, self.random.choice(KEYS))

    def effect(self, words):
        """key, used, held: what the command does if it is carried out."""
        if words[0] in ("COMMIT", "CANCEL"):
            key, units = self.ending[words[1]]
            return key, units if words[0] == "COMMIT" else 0, -units
        if words[0] == "USAGE":
            return words[2], 0, 0
        (_, key, units), = split(words)[0]
        return (key, *{"TAKE": (units, 0), "GIVE": (-units, 0), "HOLD": (0, units)}[words[0]])

    def note(self, words, reply):
        """Books the answer; tells what is wrong with it, if anything is."""
        key, used, held = self.effect(words)
        if not isinstance(reply, list):
            return f"an error: {reply}"
        if words[0] in ("TAKE", "HOLD") and reply[0] == 0:
            return None
        self.used[key] += used
        self.held[key] += held
        if words[0] in ("TAKE", "COMMIT"):
            self.spendable.append((key, used))
        if words[0] == "HOLD":
            self.open_holds[split(words)[1]["ID"]] = key, held
        if words[0] in ("COMMIT", "CANCEL"):
            del self.ending[words[1]]
        if words[0] == "GIVE" and reply[0] != -used:
            return f"{-used} were taken, and could not be given back: {reply}"
        if words[0] == "USAGE" and reply[0] + reply[1] > AMOUNT:
            return f"more than {AMOUNT} are in use: {reply}"
        return None


def bounds(members, in_flight):
    """key → ((least used, most used), (least held, most held)), before what is in flight is sent again."""
    found = {}
    for key in KEYS:
        used = sum(member.used[key] for member in members)
        held = sum(member.held[key] for member in members)
        effects = [member.effect(words) for member, words in in_flight]
        found[key] = tuple(
            (known + sum(min(0, effect[column]) for effect in effects if effect[0] == key),
             known + sum(max(0, effect[column]) for effect in effects if effect[0] == key))
            for known, column in ((used, 1), (held, 2)))
    return found
