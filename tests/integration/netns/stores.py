"""The stores that nodes can share, each in a namespace of its own, in memory: `with Etcd(network) as url:`."""

import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import harness
import postgres

MEMBER = 0  # of the network


class Store:
    def __init__(self, network):
        self.inside = network.inside(MEMBER)
        self.address = network.address(MEMBER)
        memory = Path("/dev/shm")
        self.directory = Path(tempfile.mkdtemp(prefix="mete-netns-", dir=memory if memory.is_dir() else None))
        self.process = None

    def __enter__(self):
        with open(self.directory / "log", "wb") as log:
            self.process = subprocess.Popen([*self.inside, *map(str, self.command())], stdout=log, stderr=log,
                                            cwd=self.directory)
        return self.url

    def __exit__(self, *_):
        if self.process:
            self.process.send_signal(signal.SIGINT)
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


class Etcd(Store):
    def command(self):
        clients, peers = f"http://{self.address}:2379", "http://127.0.0.1:2380"
        return ("etcd", "--name", "one", "--data-dir", self.directory / "data", "--listen-client-urls", clients,
                "--advertise-client-urls", clients, "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
                "--initial-cluster", f"one={peers}")

    @property
    def url(self):
        return f"etcd://{self.address}:2379?timeout=1s"


class Redis(Store):
    def command(self):
        return ("redis-server", "--bind", self.address, "--protected-mode", "no", "--save", "", "--dir", self.directory)

    @property
    def url(self):
        return f"redis://{self.address}:6379?timeout=1s"


class Postgres(Store):
    """It does not run as root, and has to have Mete's schema."""

    AS_USER = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups")

    def __enter__(self):
        url = super().__enter__()
        migrate = (*self.inside, harness.program, "migrate", url)
        harness.wait_until(lambda: harness.run(*migrate, check=False).returncode == 0, "that PostgreSQL has its schema")
        return url

    def command(self):
        shutil.chown(self.directory, "postgres")
        data = self.directory / "data"
        subprocess.run([*self.AS_USER, postgres.find("initdb"), "--no-sync", "--auth=trust", "--username=mete",
                        "--encoding=UTF8", "--locale=C", f"--pgdata={data}"], check=True, capture_output=True,
                       cwd=self.directory)
        with open(data / "pg_hba.conf", "a") as access:
            access.write("host all all samenet trust\n")
        return (*self.AS_USER, postgres.find("postgres"), "-D", data, "-c", f"listen_addresses={self.address}", "-c",
                f"unix_socket_directories={self.directory}", "-c", "fsync=off", "-c", "search_path=public")

    @property
    def url(self):
        return f"postgres://mete@{self.address}:5432/postgres?timeout=1s"
