"""A network of its own: a namespace per member, all on one switch, whose cables can be cut and made bad.

    ┌ store ┐   ┌ node-1 ┐   ┌ node-2 ┐
    └─ eth0 ┘   └── eth0 ┘   └── eth0 ┘          10.77.0.1, .2, .3, …
        │p0         │p1          │p2
    ┌───┴───────────┴────────────┴───┐
    │             switch             │           a bridge, in a namespace too
    └────────────────────────────────┘

What is outside sees nothing of it. Needs root. A bad cable is cable.py and not `tc netem`, which some kernels lack.
"""

import contextlib
import ctypes
import fcntl
import itertools
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

CABLE = Path(__file__).with_name("cable.py")
SIOCETHTOOL, ETHTOOL_STXCSUM = 0x8946, 0x17

_count = itertools.count()


def ip(*words):
    done = subprocess.run(["ip", *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"ip {' '.join(map(str, words))}: {done.stderr.strip()}")


class Network:
    def __init__(self, size):
        self.prefix = f"mete-{os.getpid()}-{next(_count)}"
        self.switch = f"{self.prefix}-switch"
        self.size = size
        self.cables = {}

    def __enter__(self):
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for member in list(self.cables):
            self.repair(member)
        for name in (self.switch, *map(self.namespace, range(self.size))):
            with contextlib.suppress(RuntimeError):
                ip("netns", "del", name)

    def _make(self):
        ip("netns", "add", self.switch)
        self._in_switch("link", "add", "switch", "type", "bridge")
        self._in_switch("link", "set", "switch", "up")
        for member in range(self.size):
            name = self.namespace(member)
            ip("netns", "add", name)
            self._in_switch("link", "add", f"p{member}", "type", "veth", "peer", "name", "eth0", "netns", name)
            self._in_switch("link", "set", f"p{member}", "master", "switch", "up")
            ip("-n", name, "address", "add", f"{self.address(member)}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "lo", "up")
            subprocess.run([*self.inside(member), sys.executable, "-B", __file__], check=True)
            ip("-n", name, "link", "set", "eth0", "up")

    def _in_switch(self, *words):
        ip("-n", self.switch, *words)

    def namespace(self, member):
        return f"{self.prefix}-{member}"

    @staticmethod
    def address(member):
        return f"10.77.0.{member + 1}"

    def inside(self, member):
        """What a command begins with that is to run there."""
        return ("ip", "netns", "exec", self.namespace(member))

    def cut(self, member):
        ip("-n", self.namespace(member), "link", "set", "eth0", "down")

    def mend(self, member):
        ip("-n", self.namespace(member), "link", "set", "eth0", "up")

    def spoil(self, member, delay_ms, loss, seed):
        """Every frame to and from it comes so much later, and so many of them (0 to 1) do not."""
        near, far, port = f"p{member}", f"x{member}", f"y{member}"
        self._in_switch("link", "add", far, "type", "veth", "peer", "name", port)
        self._in_switch("link", "set", far, "up")
        self._in_switch("link", "set", port, "master", "switch", "up")
        self._in_switch("link", "set", near, "nomaster")
        words = ["ip", "netns", "exec", self.switch, sys.executable, "-B", CABLE, near, far, delay_ms, loss, seed]
        self.cables[member] = subprocess.Popen(list(map(str, words)))

    def repair(self, member):
        cable = self.cables.pop(member)
        cable.kill()
        cable.wait()
        self._in_switch("link", "del", f"x{member}")
        self._in_switch("link", "set", f"p{member}", "master", "switch")


def compute_checksums():
    """In this namespace frames get theirs when they are sent: one that a program passes on must have it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = bytearray(struct.pack("II", ETHTOOL_STXCSUM, 0))
        address = ctypes.addressof((ctypes.c_char * len(request)).from_buffer(request))
        fcntl.ioctl(any_socket, SIOCETHTOOL, struct.pack("16sP16x", b"eth0", address))


if __name__ == "__main__":
    compute_checksums()
