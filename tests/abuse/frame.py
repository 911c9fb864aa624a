"""The frame of the abuse suite: a real server, an innocent client beside an abuser, and how long the innocent waits.

A case is a class: who the abuser is, what it does in `play`, and what else must hold in `check`. It stands in a file
`NAME_cases.py` of this folder, and so is found by `abuse_test.py` (short, with generous bounds) and by `./x bench
abuse` (long, with larger sizes, and with the bars):

    class Pipelines(frame.Case):
        by = frame.STRANGER                       # or frame.USE: whoever has the use password
        what = "AUTH in a pipeline"
        flags = ["--max-connections", "100"]      # of the server, beside the passwords

        def prepare(self, server):                # as the admin, before anything is measured
        def play(self, target, is_over):          # the abuse, in a process of its own, until is_over()
        def check_beside(self, target):           # yields (what, value, at most), while the abuse goes on
        def check(self, before, after):           # the same once it is over; `before` the abuse, and under it
        def bars(self):                           # the same, for a machine that is quiet: of `./x bench abuse` alone

The innocent takes from a limit of its own and asks over HTTP, a request each few milliseconds; its p99 and its worst
are compared with its own quiet minute before.
"""

import contextlib
import dataclasses
import http.client
import importlib
import itertools
import multiprocessing
import os
import ssl
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))

import harness  # noqa: E402
import http2  # noqa: E402

STRANGER, USE, ADMIN = "a stranger", "a client with the use password", "whoever connects, where no password is set"
ADMIN_PASSWORD, USE_PASSWORD = "the admin's", "the user's"
ABUSER = "127.0.0.2"  # the address from which the abuse comes; all others are at 127.0.0.1
PAUSE_S = 0.002  # between two requests of an innocent client
is_long = False  # `./x bench abuse`: then cases are as large as what they stand for

_context = multiprocessing.get_context("fork")


@dataclasses.dataclass
class Target:
    """What a process needs to reach the server; of what harness.Server has, the part that may be forked."""

    resp_port: int
    http_port: int
    grpc_port: int
    process_id: int
    has_passwords: bool
    source: str = "127.0.0.1"
    tls: ssl.SSLContext = None  # of RESP and HTTP

    def resp(self, password=None):
        return harness.Resp(self.resp_port, password=password if self.has_passwords else None, tls=self.tls,
                            source=self.source)

    def use(self):
        return self.resp(USE_PASSWORD)

    def raw_resp(self):
        return harness.Socket(self.resp_port, tls=self.tls, source=self.source)

    def raw_http(self):
        return harness.Socket(self.http_port, tls=self.tls, source=self.source)

    def grpc(self, **settings):
        return http2.Grpc(self.grpc_port, source=self.source, **settings)

    def http(self):
        place = ("127.0.0.1", self.http_port)
        settings = {"timeout": harness.PATIENCE_S, "source_address": (self.source, 0)}
        if self.tls:
            return contextlib.closing(http.client.HTTPSConnection(*place, context=self.tls, **settings))
        return contextlib.closing(http.client.HTTPConnection(*place, **settings))

    def ask_http(self, method, path, **options):
        with self.http() as connection:
            return harness.ask_http(connection, method, path, **options)

    def resident_bytes(self):
        pages = Path(f"/proc/{self.process_id}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


@dataclasses.dataclass
class Moment:
    """How the server stands: for `check`."""

    target: Target
    resident_bytes: int
    metrics: str
    notes: dict  # what `play` has told by self.notes["name"] = number

    def metric(self, name):
        for line in self.metrics.splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        raise KeyError(name)


class Case:
    by = STRANGER
    what = ""
    flags = []
    has_passwords = True
    uses_tls = False

    def __init__(self):
        self.notes = {}

    def prepare(self, server):
        pass

    def play(self, target, is_over):
        raise NotImplementedError

    def check_beside(self, target):
        return []

    def check(self, before, after):
        return []

    def bars(self):
        return []

    def options(self, test):
        """Of harness.Server. What needs another server starts it here, and sets `self.flags`."""
        return {}


def send_all(client, commands):
    """A pipeline of commands, a piece after the other; its answers."""
    commands = iter(commands)
    answers = []
    while piece := list(itertools.islice(commands, 10_000)):
        client.send(b"".join(harness.encode(*words) for words in piece))
        answers += [client.reply() for _ in piece]
    return answers


def admin_and_health_get_in(target):
    """Whoever has the admin's password gets in, and so do questions about health; each on new connections."""
    started = time.monotonic()
    for _ in range(5):
        with target.resp(ADMIN_PASSWORD) as admin:
            assert admin.ask("PING") == "PONG"
        assert target.ask_http("GET", "/readyz").status == 200
    return "seconds until the admin and /readyz are answered, five times", time.monotonic() - started, 2


class Latencies:
    def __init__(self, seconds):
        self.sorted = sorted(seconds)

    @property
    def p99(self):
        return self.sorted[min(len(self.sorted) - 1, len(self.sorted) * 99 // 100)]

    @property
    def worst(self):
        return self.sorted[-1]


@dataclasses.dataclass
class Report:
    case: Case
    quiet: Latencies
    abused: Latencies
    checks: list  # (what, value, at most)

    @property
    def ratio(self):
        return self.abused.p99 / self.quiet.p99


def cases():
    """All of them, in the order of their files."""
    folder = Path(__file__).resolve().parent
    sys.path.insert(0, str(folder))
    found = []
    for path in sorted(folder.glob("*_cases.py")):
        module = importlib.import_module(path.stem)
        found += [each for each in vars(module).values()
                  if isinstance(each, type) and issubclass(each, Case) and each.__module__ == module.__name__]
    return found


def _ask_on(target, seconds, answers):
    """One innocent client: RESP and HTTP in turns."""
    with target.use() as resp, target.http() as web:
        answers.send(_ask(target, resp, web, seconds))


def _ask(target, resp, web, seconds):
    headers = {"Authorization": f"Bearer {USE_PASSWORD}"} if target.has_passwords else {}
    waits = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        started = time.monotonic()
        answer = resp.ask("TAKE", "innocent", "alice")
        waits.append(time.monotonic() - started)
        assert isinstance(answer, list), answer
        started = time.monotonic()
        web.request("GET", "/v1/check?limit=innocent&key=bob", headers=headers)
        response = web.getresponse()
        response.read()
        waits.append(time.monotonic() - started)
        assert response.status == 200, response.status
        time.sleep(PAUSE_S)
    return waits


def _measure(target, seconds):
    ours, theirs = _context.Pipe()
    process = _context.Process(target=_ask_on, args=(target, seconds, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        return Latencies(ours.recv())
    except EOFError:
        raise AssertionError("the innocent client was refused, or cut off") from None
    finally:
        process.join()


def _play(case, target, over, notes):
    try:
        case.play(dataclasses.replace(target, source=ABUSER), over.is_set)
    finally:
        notes.send(case.notes)


def _moment(target, notes):
    headers = {"Authorization": f"Bearer {ADMIN_PASSWORD}"} if target.has_passwords else {}
    metrics = target.ask_http("GET", "/metrics", headers=headers).body.decode()
    return Moment(target, target.resident_bytes(), metrics, notes)


def _make_certificate(test):
    folder = tempfile.TemporaryDirectory()
    test.addCleanup(folder.cleanup)
    files = [f"{folder.name}/{name}.pem" for name in ("certificate", "key")]
    harness.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                "2", "-subj", "/CN=localhost", "-out", files[0], "-keyout", files[1])
    return ["--tls-cert", files[0], "--tls-key", files[1]]


def _trusting():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def run(case_type, test, quiet_s, abused_s):
    """Plays one case; `test` is a TestCase, whose end is the server's."""
    case = case_type()
    passwords = ["--password", ADMIN_PASSWORD, "--use-password", USE_PASSWORD] if case.has_passwords else []
    certificate = _make_certificate(test) if case.uses_tls else []
    options = case.options(test)
    server = harness.Server(test, "--grpc", "127.0.0.1:0", *passwords, *certificate, *case.flags, **options)
    target = Target(server.resp_port, server.http_port, server.grpc_port, server.process.pid, case.has_passwords,
                    tls=_trusting() if case.uses_tls else None)
    with target.resp(ADMIN_PASSWORD) as admin:
        admin.line("LIMIT SET innocent BUCKET 1000000000 PER 1s DURABLE never")
    case.prepare(server)
    quiet = _measure(target, quiet_s)
    before = _moment(target, {})
    over = _context.Event()
    ours, theirs = _context.Pipe()
    abuser = _context.Process(target=_play, args=(case, target, over, theirs), daemon=True)
    abuser.start()
    theirs.close()
    try:
        abused = _measure(target, abused_s)
        after = _moment(target, {})
        checks = list(case.check_beside(target))
    finally:
        over.set()
        abuser.join(harness.PATIENCE_S)
        if abuser.is_alive():
            abuser.kill()
    after.notes = case.notes = ours.recv()
    assert server.is_running()
    return Report(case, quiet, abused, checks + list(case.check(before, after)))
