"""A PostgreSQL of one's own, for tests and benchmarks: `with Postgres() as postgres: postgres.query("select 1")`.

It is started from Debian's programs in a fresh directory, on a free port, without syncing its disk unless it is told to, and killed at the end. It does not
run as root: there it is the user postgres, whom the package makes.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

PATIENCE_S = 60


def find(program):
    """The path of one of PostgreSQL's programs, which are not all in the PATH."""
    folders = [os.environ.get("PATH", ""), *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True))]
    path = shutil.which(program, path=":".join(folders))
    if path is None:
        raise RuntimeError(f"not installed: {program}; ./x test installs what the tests need")
    return path


class Postgres:
    def __init__(self, port, settings=None):
        """settings: of postgresql.conf, in place of the usual ones."""
        self.port = port
        self.settings = settings or {}
        self.directory = Path(tempfile.mkdtemp(prefix="mete-postgres-"))
        self.user = {"user": "postgres"} if os.geteuid() == 0 else {}
        if self.user:
            shutil.chown(self.directory, "postgres")
        self.process = None

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def stop(self):
        """For good."""
        if self.process and self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGINT)  # an end that waits for nobody
            self.process.wait()

    def signal(self, number):
        """To all its processes: those that serve connections are its children."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        for process in (self.process.pid, *map(int, children.split())):
            with contextlib.suppress(ProcessLookupError):  # one that has just ended
                os.kill(process, number)

    def _start(self):
        data = self.directory / "data"
        self._run([find("initdb"), "--no-sync", "--auth=trust", "--username=mete", "--encoding=UTF8", "--locale=C",
                   f"--pgdata={data}"])
        # Its role has the name of the schema, which would be found without being named.
        settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": self.directory, "fsync": "off",
                    "max_connections": "50", "search_path": "public", **self.settings}
        words = [find("postgres"), "-D", data, "-p", str(self.port)]
        words += [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with open(self.directory / "log", "wb") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, cwd=self.directory, **self.user)
        deadline = time.monotonic() + PATIENCE_S
        while subprocess.run([find("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False).returncode:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("PostgreSQL does not start:\n" + (self.directory / "log").read_text())
            time.sleep(0.05)

    def _run(self, words):
        done = subprocess.run(words, capture_output=True, text=True, cwd=self.directory, check=False, **self.user)
        if done.returncode:
            raise RuntimeError(f"{words[0]} failed:\n{done.stdout}{done.stderr}")

    def _signal_all(self, number):
        """The server, and then the processes that it has made for its connections: each is in a group of its own."""
        self.process.send_signal(number)
        pid = self.process.pid
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), number)

    def pause(self):
        """It does not answer until go_on(), and its connections stay."""
        self._signal_all(signal.SIGSTOP)

    def go_on(self):
        self._signal_all(signal.SIGCONT)

    @property
    def url(self):
        return f"postgres://mete@127.0.0.1:{self.port}/postgres?timeout=20s"

    @property
    def environment(self):
        """What tells programs that use libpq of it."""
        return {**os.environ, "PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": "mete", "PGDATABASE": "postgres"}

    def query(self, sql):
        """The rows, as lists of texts."""
        words = [find("psql"), "-XqAt", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port), "-U", "mete",
                 "postgres"]
        done = subprocess.run(words, input=sql, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            raise RuntimeError(f"{sql}: {done.stderr}")
        return [line.split("\t") for line in done.stdout.splitlines()]
