"""Book: what the server must say of the things that one client alone has to do with.

A second, slow and obvious account of the commands: `apply` carries one out and tells the answer that it must get. Nobody else touches
the client's limits and keys, so after any number of its commands there is exactly one right state. Times are left out: the periods are so
long that nothing comes back while a test runs.
"""

import math
from dataclasses import dataclass, replace

from harness import Failure

HOUR_MS = 3_600_000
DURABLE_KINDS = ("STOCK", "CALENDAR")  # unless they are told otherwise

# Ten years: the present ones end in none of the next months, so nothing comes back while a test runs.
QUOTA_SECONDS = 10 * 365 * 86_400
THROTTLE = (1_000_000, 1, QUOTA_SECONDS)  # max_burst, count, period


class Anything:
    """Equals every value: for times."""

    def __eq__(self, other):
        return True

    def __repr__(self):
        return "…"


ANY = Anything()


@dataclass(frozen=True)
class Refusal:
    code: str

    def __eq__(self, other):
        return isinstance(other, Failure) and other.code == self.code


@dataclass(frozen=True)
class Hours:
    """So many hours in milliseconds, begun less than an hour ago."""
    hours: int

    def __eq__(self, other):
        return isinstance(other, int) and math.ceil(other / HOUR_MS) == self.hours


@dataclass(frozen=True)
class Fields:
    """A flat map that has at least these."""
    wanted: tuple  # of (name, value)

    def __eq__(self, other):
        if not isinstance(other, list):
            return False
        found = dict(zip(other[::2], other[1::2]))
        return all(found.get(name) == value for name, value in self.wanted)


@dataclass(frozen=True)
class InAnyOrder:
    values: list

    def __eq__(self, other):
        return isinstance(other, list) and sorted(other) == sorted(self.values)


@dataclass(frozen=True)
class Limit:
    kind: str
    amount: int
    capacity: int
    is_durable: bool


@dataclass(frozen=True)
class Hold:
    charges: tuple  # of (limit, key, cost)
    hours: int      # 0: it is over before anybody looks
    tag: str
    state: str = "held"
    held: tuple = ()       # the amounts, before it was committed to others
    answer: object = None  # that its commit or cancel got


def split(words):
    """The charges of a command and its options: [(limit, key, cost)], {name: value}."""
    charges, options = [], {}
    rest = list(words[1:])
    while rest:
        word = rest.pop(0)
        if not charges or word == "AND":
            limit = word if not charges else rest.pop(0)
            charges.append((limit, rest.pop(0), 1))
        elif word == "COST":
            charges[-1] = (*charges[-1][:2], rest.pop(0))
        elif word in ("ID", "TAG", "TTL"):
            options[word] = rest.pop(0)
        else:
            options[word] = True
    return charges, options


class Book:
    def __init__(self):
        self.limits = {}     # name → Limit
        self.overrides = {}  # (limit, key) → amount
        self.charged = {}    # (limit, key) → units, those held among them
        self.held = {}       # (limit, key) → units
        self.holds = {}      # id → Hold
        self.answers = {}    # id → answer
        self.counters = {}   # key → value
        self.quotas = {}     # key → (amount, used)
        self.throttles = {}  # key → used
        # What is over: ids and holds that nothing can change any more. Copies share it.
        self.old_answers = {}
        self.old_holds = {}
        # Of the last command.
        self.has_changed = False
        self.is_durable = False

    def copy(self):
        other = Book()
        for name, value in vars(self).items():
            is_shared = name.startswith("old_") or not isinstance(value, dict)
            setattr(other, name, value if is_shared else dict(value))
        return other

    def copy_entity(self, question, other):
        """Makes what the question asks for what it is in the other book."""
        for table in ("charged", "counters", "quotas", "throttles"):
            name = question[1:3] if table == "charged" else question[1]
            getattr(self, table).pop(name, None)
            if name in getattr(other, table):
                getattr(self, table)[name] = getattr(other, table)[name]

    def put_away(self):
        """Moves what is over to where it is not copied any more."""
        self.old_answers.update(self.answers)
        self.answers = {}
        over = {id: hold for id, hold in self.holds.items() if hold.state != "held"}
        self.old_holds.update(over)
        self.holds = {id: hold for id, hold in self.holds.items() if id not in over}

    def apply(self, words):
        """Carries the command out: the answer that it must get."""
        self.has_changed, self.is_durable = False, False
        name = "_" + words[0].lower().replace(".", "_")
        if words[0] == "LIMIT":
            name += "_" + words[1].lower()
        return getattr(self, name)(words)

    def _changed(self, is_durable=True):
        self.has_changed, self.is_durable = True, is_durable

    # --- Limits -------------------------------------------------------------------------------------------------------

    def _limit_set(self, words):
        _, _, name, kind, amount, *options = words
        told = dict(zip(options[::2], options[1::2]))
        durable = told.get("DURABLE", "always" if kind in DURABLE_KINDS else "everysec")
        limit = Limit(kind.lower(), amount, told.get("BURST", amount), durable == "always")
        if self.limits.get(name) != limit:
            self._changed()
        self.limits[name] = limit
        return "OK"

    def _limit_get(self, words):
        limit = self.limits.get(words[2])
        return limit and Fields(((b"kind", limit.kind.encode()), (b"amount", limit.amount)))

    def _limit_del(self, words):
        name = words[2]
        if self.limits.pop(name, None) is None:
            return 0
        self._changed()
        for table in (self.overrides, self.charged):
            for meter in [meter for meter in table if meter[0] == name]:
                del table[meter]
        return 1

    def _limit_override(self, words):
        _, _, name, key, amount = words
        if name not in self.limits:
            return Refusal("NOLIMIT")
        before = self.overrides.pop((name, key), None)
        if amount != "NONE":
            self.overrides[name, key] = amount
        if before != self.overrides.get((name, key)):
            self._changed()
        return "OK"

    def capacity(self, meter):
        return self.overrides.get(meter, self.limits[meter[0]].capacity)

    def remaining(self, meter):
        return max(0, self.capacity(meter) - self.charged.get(meter, 0))

    def _tightest(self, charges):
        """remaining, limit: of the charge with the least remaining, the first such."""
        meter = min((charge[:2] for charge in charges), key=self.remaining)
        return self.remaining(meter), self.capacity(meter)

    def _charge(self, meter, units):
        self.charged[meter] = self.charged.get(meter, 0) + units

    def _set_aside(self, meter, units):
        self.held[meter] = self.held.get(meter, 0) + units

    # --- Decisions ----------------------------------------------------------------------------------------------------

    def _once(self, words, act):
        """Carries out what has an id unless that was done before."""
        charges, options = split(words)
        id = options.get("ID")
        for answers in (self.answers, self.old_answers):
            if id in answers:
                return answers[id]
        if any(limit not in self.limits for limit, _, _ in charges):
            return Refusal("NOLIMIT")
        answer = act(charges, options)
        if id:
            self.answers[id] = answer
            self._changed(self.is_durable or words[0] != "TAKE" or self._is_durable(charges))
        return answer

    def _is_durable(self, charges):
        return any(self.limits[limit].is_durable for limit, _, _ in charges)

    def _violated(self, charges):
        names = [limit for limit, key, cost in charges
                 if self.charged.get((limit, key), 0) + cost > self.capacity((limit, key))]
        return [name.encode() for name in dict.fromkeys(names)]

    def _take(self, words):
        return self._once(words, self._take_now)

    def _take_now(self, charges, options):
        violated = self._violated(charges)
        if "UPTO" in options:
            limit, key, cost = charges[0]
            taken = min(cost, self.remaining((limit, key)))
            charges = [(limit, key, taken)]
            is_allowed, told = taken > 0, taken
            violated = [] if is_allowed else [limit.encode()]
        else:
            is_allowed = "FORCE" in options or not violated
            told = int(is_allowed)
        if "FORCE" in options:
            violated = ANY
        if is_allowed:
            for limit, key, cost in charges:
                self._charge((limit, key), cost)
            self._changed(self._is_durable(charges))
        return [told, *self._tightest(charges), ANY, ANY, violated]

    def _give(self, words):
        return self._once(words, self._give_now)

    def _give_now(self, charges, _):
        returned = 0
        for limit, key, cost in charges:
            meter = limit, key
            units = min(cost, max(0, self.charged.get(meter, 0) - self.held.get(meter, 0)))
            self._charge(meter, -units)
            returned += units
        if returned:
            self._changed()
        return [returned, *self._tightest(charges)]

    def _usage(self, words):
        meter = words[1:]
        if meter[0] not in self.limits:
            return Refusal("NOLIMIT")
        charged, held = self.charged.get(meter, 0), self.held.get(meter, 0)
        return [charged - held, held, self.remaining(meter), self.capacity(meter), ANY]

    def _reconcile(self, words):
        _, limit, key, used = words
        meter = limit, key
        held = self.held.get(meter, 0)
        before = self.charged.get(meter, 0) - held
        self.charged[meter] = used + held
        if before != used:
            self._changed()
        return [before, used]

    # --- Holds --------------------------------------------------------------------------------------------------------

    def _hold(self, words):
        return self._once(words, self._hold_now)

    def _hold_now(self, charges, options):
        id, ttl = options["ID"], options["TTL"]
        if ttl.endswith("ms"):
            self.holds[id] = Hold(tuple(charges), 0, options["TAG"], "expired")
            return [1, id.encode(), ANY, ANY, ANY, ANY, []]
        violated = self._violated(charges)
        if not violated:
            for limit, key, cost in charges:
                self._charge((limit, key), cost)
                self._set_aside((limit, key), cost)
            self.holds[id] = Hold(tuple(charges), int(ttl.removesuffix("h")), options["TAG"])
        return [int(not violated), id.encode(), *self._tightest(charges), ANY, ANY, violated]

    def _open_hold(self, id):
        hold = self.holds.get(id)
        return hold if hold and hold.state == "held" else None

    def _commit(self, words):
        _, id, *amounts = words
        has_overage = "OVERAGE" in amounts
        amounts = [amount for amount in amounts if amount != "OVERAGE"]
        hold = self.holds.get(id)
        if hold is None or hold.state not in ("held", "committed"):
            return Refusal("NOHOLD")
        costs = tuple(cost for _, _, cost in hold.charges)
        if hold.state == "committed":
            return hold.answer if (tuple(amounts) or hold.held) == costs else Refusal("MISMATCH")
        amounts = amounts or list(costs)
        more = [(limit, key, amount - cost) for (limit, key, cost), amount in zip(hold.charges, amounts) if amount > cost]
        if more and (not has_overage or self._violated(more)):
            return Refusal("EXCEEDS")
        for (limit, key, cost), amount in zip(hold.charges, amounts):
            self._charge((limit, key), amount - cost)
            self._set_aside((limit, key), -cost)
        final = tuple((limit, key, amount) for (limit, key, _), amount in zip(hold.charges, amounts))
        answer = [sum(amounts), *self._tightest(hold.charges)]
        self.holds[id] = replace(hold, charges=final, state="committed", held=costs, answer=answer)
        self._changed()
        return answer

    def _cancel(self, words):
        hold = self.holds.get(words[1])
        if hold is None or hold.state not in ("held", "cancelled"):
            return Refusal("NOHOLD")
        if hold.state == "cancelled":
            return hold.answer
        for limit, key, cost in hold.charges:
            self._charge((limit, key), -cost)
            self._set_aside((limit, key), -cost)
        answer = [sum(cost for _, _, cost in hold.charges), *self._tightest(hold.charges)]
        self.holds[words[1]] = replace(hold, state="cancelled", answer=answer)
        self._changed()
        return answer

    def _extend(self, words):
        _, id, _, ttl = words
        hold = self._open_hold(id)
        if hold is None:
            return Refusal("NOHOLD")
        self.holds[id] = replace(hold, hours=int(ttl.removesuffix("h")))
        self._changed()
        return Hours(self.holds[id].hours)

    def _hold_get(self, words):
        hold = self.holds.get(words[1]) or self.old_holds.get(words[1])
        if hold is None:
            return None
        charges = [[limit.encode(), key.encode(), cost] for limit, key, cost in hold.charges]
        expires_in = Hours(hold.hours) if hold.state == "held" else ANY
        return [b"state", hold.state.encode(), b"expires_in_ms", expires_in, b"tag", hold.tag.encode(),
                b"charges", charges]

    def _holds(self, words):
        if words[1] == "TAG":
            ids = [id for id, hold in self.holds.items() if hold.state == "held" and hold.tag == words[2]]
        else:
            ids = [id for id, hold in self.holds.items() if hold.state == "held"
                   and tuple(words[1:3]) in [charge[:2] for charge in hold.charges]]
        return InAnyOrder([id.encode() for id in ids])

    # --- Keys ---------------------------------------------------------------------------------------------------------

    def _incr(self, words):
        key = words[1]
        if key in self.quotas:
            return self._consume(key, 1)
        self.counters[key] = self.counters.get(key, 0) + 1
        self._changed(is_durable=False)
        return self.counters[key]

    def _get(self, words):
        value = self.counters.get(words[1])
        return None if value is None else str(value).encode()

    def _consume(self, key, units):
        amount, used = self.quotas[key]
        if used + units > amount:
            return -1
        self.quotas[key] = amount, used + units
        self._changed(is_durable=False)
        return amount - used - units

    def _quotaset(self, words):
        _, key, amount, _ = words
        before = self.quotas.get(key)
        self.quotas[key] = amount, before[1] if before else 0
        if before != self.quotas[key]:
            self._changed()
        return "OK"

    def _quotaincr(self, words):
        _, key, amount, _, units = words
        if key not in self.quotas:
            self.quotas[key] = amount, 0
            self._changed(is_durable=False)
        return self._consume(key, units)

    def _quotadel(self, words):
        if self.quotas.pop(words[1], None):
            self._changed()
        return "OK"

    def _quotaget(self, words):
        if words[1] not in self.quotas:
            return None
        amount, used = self.quotas[words[1]]
        return [amount, QUOTA_SECONDS, max(0, amount - used)]

    def _cl_throttle(self, words):
        key, burst, units = words[1], words[2], words[5]
        used = self.throttles.get(key, 0)
        is_limited = used + units > burst + 1
        if units and not is_limited:
            self.throttles[key] = used = used + units
            self._changed(is_durable=False)
        return [int(is_limited), burst + 1, burst + 1 - used, ANY, ANY]
