"""A real redis-server for tests."""

import shutil
import signal
import subprocess

import harness


class Redis:
    """A redis-server of its own, without a disk; killed at the end of the test."""

    def __init__(self, test, *flags, port=None):
        harness.require("redis-server")
        self.port = port or harness.free_port()
        self.process = subprocess.Popen(
            [shutil.which("redis-server", path=harness.search_path()), "--port", str(self.port), "--bind", "127.0.0.1",
             "--save", "", "--appendonly", "no", "--dir", harness.Folder(test) / "", *flags],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        test.addCleanup(self.kill)
        self.client = harness.wait_until(self._connect, "the start of redis-server")
        test.addCleanup(self.client.close)

    def _connect(self):
        try:
            return harness.Resp(self.port)
        except ConnectionRefusedError:
            return None

    def pause(self):
        """It does not answer until go_on(), and its connections stay."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def url(self, database=0, user=""):
        return f"redis://{user}127.0.0.1:{self.port}/{database}?timeout=20s"


SLOTS = 16384


def cluster(test, count=3):
    """The nodes of a Redis Cluster, with the slots in equal parts."""
    nodes = [Redis(test, "--cluster-enabled", "yes", "--cluster-port", str(harness.free_port())) for _ in range(count)]
    for index, node in enumerate(nodes):
        assert node.client.ask("CLUSTER", "ADDSLOTSRANGE", SLOTS * index // count, SLOTS * (index + 1) // count - 1) == "OK"
        bus = node.client.ask("CONFIG", "GET", "cluster-port")[1].decode()
        assert nodes[0].client.ask("CLUSTER", "MEET", "127.0.0.1", node.port, bus) == "OK"

    def is_whole(node):
        information = node.client.ask("CLUSTER", "INFO").decode()
        return "cluster_state:ok" in information and f"cluster_known_nodes:{count}" in information

    for node in nodes:
        harness.wait_until(lambda node=node: is_whole(node), "that the cluster is whole")
    return nodes
