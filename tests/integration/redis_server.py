"""A real redis-server for tests."""

import shutil
import signal
import socket
import subprocess
import threading
import time

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


class RedisCluster(Redis):
    """A Redis Cluster of one node."""

    def __init__(self, test):
        port = harness.free_ports(2)
        super().__init__(test, "--cluster-enabled", "yes", "--cluster-port", str(port + 1), port=port)
        self.client.ask("CLUSTER", "ADDSLOTSRANGE", 0, SLOTS - 1)
        harness.wait_until(lambda: b"cluster_state:ok" in self.client.ask("CLUSTER", "INFO"), "that the cluster is one")

    def url(self):
        return f"redis+cluster://127.0.0.1:{self.port}?timeout=20s"


class Relay:
    """A way to a server that is so far away, on which the round trips are counted: what leaves together is one, however much
    it is."""

    def __init__(self, test, port, distance_s=0.05):
        self.target = port
        self.distance_s = distance_s
        self.round_trips = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        test.addCleanup(self.listener.close)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.target))
            threading.Thread(target=self._pass_on, args=(near, far, True), daemon=True).start()
            threading.Thread(target=self._pass_on, args=(far, near, False), daemon=True).start()

    def _pass_on(self, source, target, counted):
        try:
            while data := source.recv(1 << 20):
                if counted:
                    self.round_trips += 1
                    time.sleep(self.distance_s)
                target.sendall(data)
        except OSError:
            pass
        for each in (source, target):
            each.close()
