"""A real etcd for tests."""

import shutil
import signal
import subprocess
import urllib.request

import harness


class Etcd:
    """An etcd of its own, which does not sync its disk; killed at the end of the test."""

    def __init__(self, test):
        harness.require("etcd")
        ports = harness.free_ports(2)
        self.port = ports
        self.clients, peers = f"http://127.0.0.1:{ports}", f"http://127.0.0.1:{ports + 1}"
        self.process = subprocess.Popen(
            [shutil.which("etcd", path=harness.search_path()), "--name", "one", "--data-dir", harness.Folder(test) / "etcd",
             "--listen-client-urls", self.clients, "--advertise-client-urls", self.clients, "--listen-peer-urls", peers,
             "--initial-advertise-peer-urls", peers, "--initial-cluster", f"one={peers}", "--unsafe-no-fsync"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        test.addCleanup(self.kill)
        harness.wait_until(self._is_there, "the start of etcd")

    def _is_there(self):
        try:
            return '"health":"true"' in self.read("health")
        except OSError:
            return False

    def read(self, path):
        """What it answers to GET."""
        with urllib.request.urlopen(f"{self.clients}/{path}", timeout=harness.PATIENCE_S) as response:
            return response.read().decode()

    def pause(self):
        """It does not answer until go_on(), and its connections stay."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def url(self, timeout="20s"):
        return f"etcd://127.0.0.1:{self.port}?timeout={timeout}"
