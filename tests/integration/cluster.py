"""Nodes of a cluster and the server that they share, for tests: real programs on loopback.

    cluster = Cluster(test)                     # the shared server runs, with a directory of its own
    one, other = cluster.nodes("one", "other")
    one.ask("LIMIT", "SET", "api", "WINDOW", 100, "PER", "1h", "SCOPE", "escrow")
    other.kill(); other.start()                 # on the same directory and ports

All ends with the test.
"""

import shutil

import harness

# One window is a year: no test sees its end.
WINDOW = "WINDOW 100 PER 366d SCOPE escrow"
STOCK = "STOCK 100 SCOPE escrow"
AMOUNT = 100


class Process:
    """A server that can end and start again, with the same directory and ports."""

    def __init__(self, test, directory, flags):
        self.test = test
        self.directory = directory
        self.port = harness.free_port()
        self.flags = flags
        self.server = None

    @property
    def words(self):
        return ("--resp", f"127.0.0.1:{self.port}", "--http", "off", "--data", self.directory, *self.flags)

    def start(self):
        self.server = harness.Server(self.test, *self.words, listen=False)
        # While it reads its directory it says LOADING.
        harness.wait_until(lambda: not str(self.server.ask("PING")).startswith("LOADING"), "that the server is ready")
        return self

    def refusal(self):
        """Of a start that must fail: what it says on standard error."""
        result = harness.run(harness.program, "serve", *self.words, check=False)
        if result.returncode == 0:
            raise AssertionError(f"a start that had to be refused was not: {self.words}")
        return result.stderr

    def kill(self):
        self.server.kill()

    def stop(self):
        return self.server.stop()

    def signal(self, number):
        self.server.signal(number)

    def ask(self, *words):
        return self.server.ask(*words)

    def line(self, text):
        """A command as people write it: words between spaces."""
        return self.ask(*text.split())


class Node(Process):
    def __init__(self, cluster, name, directory=None, flags=()):
        self.name = name
        super().__init__(cluster.test, directory or cluster.folder / name,
                         ("--escrow-shared", cluster.url, "--escrow-node", name, *flags))

    def take_all(self, limit, key="k", count_max=1000):
        """Takes one after the other until it is denied; how many were admitted. An error ends the test."""
        with self.server.resp() as client:
            for count in range(count_max):
                answer = client.ask("TAKE", limit, key)
                if isinstance(answer, harness.Failure):
                    raise AssertionError(f"{self.name}: {answer}")
                if answer[0] == 0:
                    return count
        raise AssertionError(f"{self.name}: {limit} has no end")

    def take_until_error(self, limit, key="k", count_max=1000):
        """The same where the end is an error: how many, and the error."""
        with self.server.resp() as client:
            for count in range(count_max):
                answer = client.ask("TAKE", limit, key)
                if isinstance(answer, harness.Failure):
                    return count, answer
                if answer[0] == 0:
                    raise AssertionError(f"{self.name}: denied after {count}, and no error")
        raise AssertionError(f"{self.name}: {limit} has no end")


class Cluster:
    def __init__(self, test):
        self.test = test
        self.folder = harness.Folder(test)
        self.shared = Process(test, self.folder / "shared", ()).start()

    @property
    def url(self):
        return f"mete://127.0.0.1:{self.shared.port}?timeout=1s"

    def nodes(self, *names):
        return [Node(self, name).start() for name in names]

    def define(self, nodes, name, rule):
        """Defines a limit at the first node, and waits until all have heard of it."""
        assert nodes[0].ask("LIMIT", "SET", name, *rule.split()) == "OK"
        for node in nodes:
            harness.wait_until(lambda node=node: node.ask("LIMIT", "GET", name) is not None, f"{name} at {node.name}")

    def usage(self, limit, key="k"):
        """Used, held, remaining as the shared server has them."""
        return self.shared.ask("USAGE", limit, key)[:3]

    def starts(self, name):
        """How often a node of that name has started: its incarnation."""
        return self.shared.ask("STORE", "USAGE", "mete.nodes", f"{{mete}}node:{name}")[1]

    def copy_directory(self, node, name):
        shutil.copytree(node.directory, self.folder / name)
        return self.folder / name
