"""Mix: one client's random commands on limits and keys of its own, as likely to fit as not to."""

import time

from crash.book import QUOTA_SECONDS, THROTTLE, Book

KEYS = ("a", "b", "c")
AMOUNTS = (40, 60, 90)
OVERRIDES = (45, 65, 95)  # unlike them, so that one can be seen
TAGS = ("night", "day")
LIMITS = ("stock", "year", "brief", "safe", "fast", "window", "loose", "passing")
LIMITS_OF_HOLDS = ("stock", "year", "brief")
LOOSE_LIMITS = ("fast", "window", "loose")  # takes of these are answered before they are on disk
HOLDS_MAX = 100_000  # that are asked for
LONG = "3653d"   # no window ends while the test runs
BRIEF = "50ms"   # holds that are over before anybody looks
BRIEF_MS = 50


def is_loose(question):
    """Whether what it asks for is changed by commands that are answered before they are on disk."""
    return question[0] in ("GET", "QUOTAGET", "CL.THROTTLE") or (
        question[0] == "USAGE" and question[1].rpartition("-")[0] in LOOSE_LIMITS)


class Mix:
    def __init__(self, client, random):
        self.client = client
        self.random = random
        self.book = Book()
        self.ids = 0

    def name(self, what):
        return f"{what}-{self.client}"

    def definitions(self):
        """What is there before anything else."""
        # A year that begins half a year from now.
        anchor = (time.gmtime().tm_mon + 5) % 12 + 1
        yield ("LIMIT", "SET", self.name("stock"), "STOCK", AMOUNTS[0])
        yield ("LIMIT", "SET", self.name("year"), "CALENDAR", AMOUNTS[0], "PER", "YEAR", "ANCHOR", anchor * 100 + 1)
        yield ("LIMIT", "SET", self.name("brief"), "STOCK", 1_000_000_000)
        yield ("LIMIT", "SET", self.name("safe"), "BUCKET", 1, "PER", LONG, "BURST", 1_000_000, "DURABLE", "always")
        yield ("LIMIT", "SET", self.name("fast"), "BUCKET", 1, "PER", LONG, "BURST", 1_000_000, "DURABLE", "everysec")
        yield ("LIMIT", "SET", self.name("window"), "WINDOW", 1_000_000, "PER", LONG)
        yield ("LIMIT", "SET", self.name("loose"), "STOCK", 1_000_000, "DURABLE", "everysec")

    def questions(self, holds):
        """Commands that show all of it, and change nothing."""
        for limit in LIMITS:
            yield ("LIMIT", "GET", self.name(limit))
        for tag in TAGS:
            yield ("HOLDS", "TAG", self.name(tag))
        for key in KEYS:
            yield from (("USAGE", self.name(limit), key) for limit in LIMITS)
            yield from (("HOLDS", self.name(limit), key, "COUNT", HOLDS_MAX) for limit in LIMITS_OF_HOLDS)
            yield ("GET", self.name("counter-" + key))
            yield ("QUOTAGET", self.name("quota-" + key))
            yield ("CL.THROTTLE", self.name("throttle-" + key), *THROTTLE, 0)
        yield from (("HOLD.GET", id) for id in holds)

    def next(self):
        """Any command."""
        makers = (self.take,) * 6 + (self.give,) * 4 + (self.hold,) * 3 + (self.end_hold,) * 4 + (
            self.quick, self.quick, self.reconcile, self.override, self.redefine, self.passing, self.brief, self.quota,
            self.look)
        return self.random.choice(makers)()

    def quick(self):
        """A command that is answered before it is on disk."""
        key = self.random.choice(KEYS)
        return self.random.choice((
            lambda: ("TAKE", self.name(self.random.choice(LOOSE_LIMITS)), key, "COST", self.cost()),
            lambda: ("TAKE", self.name("fast"), key, "AND", self.name("window"), key),
            lambda: ("INCR", self.name("counter-" + key)),
            lambda: ("QUOTAINCR", self.name("quota-" + key), 1000, QUOTA_SECONDS, self.cost()),
            lambda: ("CL.THROTTLE", self.name("throttle-" + key), *THROTTLE, self.cost()),
        ))()

    def id(self):
        self.ids += 1
        return f"{self.client}.{self.ids}"

    def cost(self):
        return self.random.randint(1, 7)

    def charges(self):
        limits = self.random.sample(("stock", "year", "safe"), self.random.choice((1, 1, 2)))
        words = []
        for limit in limits:
            words += ["AND", self.name(limit), self.random.choice(KEYS), "COST", self.cost()]
        return words[1:]

    def maybe_id(self):
        return ("ID", self.id()) if self.random.random() < 0.6 else ()

    def take(self):
        if self.random.random() < 0.1:
            return ("TAKE", self.name("stock"), self.random.choice(KEYS), "COST", 5, self.random.choice(("UPTO", "FORCE")))
        return ("TAKE", *self.charges(), *self.maybe_id())

    def give(self):
        limit, key = self.random.choice(("stock", "year")), self.random.choice(KEYS)
        return ("GIVE", self.name(limit), key, "COST", self.random.randint(1, 25), *self.maybe_id())

    def hold(self):
        keys = self.random.choice(KEYS), self.random.choice(KEYS)
        second = ("AND", self.name("year"), keys[1], "COST", self.cost()) if self.random.random() < 0.4 else ()
        return ("HOLD", self.name("stock"), keys[0], "COST", self.cost(), *second, "TTL", "10h", "ID", self.id(),
                "TAG", self.tag())

    def tag(self):
        return self.name(self.random.choice(TAGS))

    def end_hold(self):
        open_ids = [id for id, hold in self.book.holds.items() if hold.state == "held"]
        if not open_ids:
            return self.hold()
        ended_ids = [id for id, hold in self.book.holds.items() if hold.answer]
        # Now and then one that has ended: the same again, or another end.
        id = self.random.choice(ended_ids if ended_ids and self.random.randrange(5) == 0 else open_ids)
        kind = self.random.randrange(8)
        if kind == 0:
            return ("EXTEND", id, "TTL", self.random.choice(("20h", "30h")))
        if kind <= 3:
            return ("CANCEL", id)
        if kind <= 5:
            return ("COMMIT", id)
        amounts = [self.random.randint(0, cost + 2) for _, _, cost in self.book.holds[id].charges]
        return ("COMMIT", id, *amounts, *(("OVERAGE",) if kind == 7 else ()))

    def brief(self):
        return ("HOLD", self.name("brief"), self.random.choice(KEYS), "COST", self.cost(), "TTL", BRIEF, "ID", self.id(),
                "TAG", self.tag())

    def reconcile(self):
        return ("RECONCILE", self.name("stock"), self.random.choice(KEYS), self.random.randint(0, 20))

    def override(self):
        amount = self.random.choice((*OVERRIDES, "NONE"))
        return ("LIMIT", "OVERRIDE", self.name("stock"), self.random.choice(KEYS), amount)

    def redefine(self):
        return ("LIMIT", "SET", self.name("stock"), "STOCK", self.random.choice(AMOUNTS))

    def passing(self):
        """A limit that comes and goes."""
        name, key = self.name("passing"), self.random.choice(KEYS)
        return self.random.choice((
            ("LIMIT", "SET", name, "STOCK", self.random.choice(AMOUNTS)),
            ("LIMIT", "DEL", name),
            ("LIMIT", "OVERRIDE", name, key, self.random.choice(OVERRIDES)),
            ("TAKE", name, key, "COST", self.cost(), *self.maybe_id()),
            ("TAKE", name, key, "COST", self.cost(), *self.maybe_id()),
        ))

    def quota(self):
        key = self.name("quota-" + self.random.choice(KEYS))
        return self.random.choice((("QUOTASET", key, self.random.choice((500, 1000)), QUOTA_SECONDS),
                                   ("QUOTADEL", key), ("QUOTAGET", key)))

    def look(self):
        return ("USAGE", self.name("stock"), self.random.choice(KEYS))
