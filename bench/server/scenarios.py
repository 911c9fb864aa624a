"""What is compared, and the bars that Mete must reach."""

from dataclasses import dataclass

CONNECTIONS = 50
KEYS = 100_000
PIPELINES = (1, 16, 64, 256)
IDLE_CONNECTIONS = 10_000


@dataclass(frozen=True)
class Contestant:
    server: str    # "Mete" or "Redis"
    scenario: str  # a scenario of `mete bench`
    title: str
    pipelines: tuple = PIPELINES

    @property
    def is_http(self):
        return self.scenario.startswith("http-")


REDIS_PING = Contestant("Redis", "ping", "Redis PING")
REDIS_INCR = Contestant("Redis", "incr", "Redis INCR")
REDIS_LUA = Contestant("Redis", "lua-bucket", "Redis Lua token bucket")
PING = Contestant("Mete", "ping", "Mete PING")
INCR = Contestant("Mete", "incr", "Mete INCR")
TAKE_BUCKET = Contestant("Mete", "take-bucket", "TAKE bucket")
TAKE_WINDOW = Contestant("Mete", "take-window", "TAKE window")
TAKE_CALENDAR = Contestant("Mete", "take-calendar", "TAKE calendar")
TAKE_STOCK = Contestant("Mete", "take-stock", "TAKE stock")
TAKE_AND = Contestant("Mete", "take-and", "TAKE bucket AND stock")
CL_THROTTLE = Contestant("Mete", "cl-throttle", "CL.THROTTLE")
INCREX = Contestant("Mete", "increx", "INCREX")
HOLD_COMMIT = Contestant("Mete", "hold-commit", "HOLD + COMMIT")
HTTP_TAKE = Contestant("Mete", "http-take", "HTTP POST /v1/take", pipelines=(1,))

# In the order in which a round goes: the two servers alternate as far as there are scenarios of both.
CONTESTANTS = (PING, REDIS_PING, TAKE_BUCKET, REDIS_INCR, TAKE_WINDOW, REDIS_LUA, TAKE_CALENDAR, TAKE_STOCK, TAKE_AND,
               CL_THROTTLE, INCREX, HOLD_COMMIT, INCR, HTTP_TAKE)
OTHERS = (CL_THROTTLE, INCREX, INCR)  # commands of other people's servers
TAKES = (TAKE_BUCKET, TAKE_WINDOW, TAKE_CALENDAR, TAKE_STOCK)


@dataclass(frozen=True)
class Bar:
    what: str
    measured: float | None  # None: it could not be measured
    at_most: float
    unit: str = "×"

    @property
    def verdict(self):
        if self.measured is None:
            return "not measured"
        return "reached" if self.measured <= self.at_most else "MISSED"


def processor_bars(results):
    """Bars on the server's processor time per decision."""
    def ratio(upper, lower, pipeline, lower_pipeline=None):
        above = results.processor_ns(upper, pipeline)
        below = results.processor_ns(lower, lower_pipeline or pipeline)
        return above / below if above and below else None

    for pipeline in (64, 256):
        for take in TAKES:
            yield Bar(f"{take.title} / Redis INCR, pipeline {pipeline}", ratio(take, REDIS_INCR, pipeline), 0.5)
        yield Bar(f"TAKE bucket / Redis Lua token bucket, pipeline {pipeline}",
                  ratio(TAKE_BUCKET, REDIS_LUA, pipeline), 0.05)
    for take in TAKES:
        yield Bar(f"{take.title} / Redis INCR, pipeline 1", ratio(take, REDIS_INCR, 1), 0.95)
    yield Bar("TAKE bucket / Mete PING, pipeline 64", ratio(TAKE_BUCKET, PING, 64), 2.0)
    for other in OTHERS:
        yield Bar(f"{other.title} / TAKE bucket, pipeline 64", ratio(other, TAKE_BUCKET, 64), 1.3)
    yield Bar("HTTP take / RESP TAKE bucket, pipeline 1", ratio(HTTP_TAKE, TAKE_BUCKET, 1), 3.0)


def latency_bars(results):
    for pipeline in results.pipelines:
        mete = results.latency_us(TAKE_BUCKET, pipeline)
        redis = results.latency_us(REDIS_INCR, pipeline)
        yield Bar(f"p99 at half of Redis's maximum: TAKE bucket / Redis INCR, pipeline {pipeline}",
                  mete / redis if mete and redis else None, 1.0)


def other_bars(results):
    idle = results.idle_bytes.get("Mete")
    start = results.start_seconds.get("Mete")
    yield Bar(f"memory of an idle connection, of {IDLE_CONNECTIONS:,}", idle / 1024 if idle is not None else None, 8.0,
              "KiB")
    yield Bar("start to first reply", start * 1000 if start is not None else None, 100.0, "ms")


def all_bars(results):
    return [*processor_bars(results), *latency_bars(results), *other_bars(results)]
