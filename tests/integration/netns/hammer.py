"""A client that takes from a limit again and again: hammer.py PORT LIMIT RATE FILE, until SIGTERM.

RATE: takes a second, one after the other. Every admission becomes a line of FILE: when it was asked for, and when the answer
was there, in ns since the epoch. A server that is gone is waited for.
"""

import contextlib
import signal
import socket
import sys
import time

PAUSE_S = 0.1  # before it connects again
REQUEST = "*3\r\n$4\r\nTAKE\r\n${0}\r\n{1}\r\n$1\r\nk\r\n"


class Stop(Exception):
    pass


def stop(*_):
    raise Stop


def hammer(port, limit, rate, file):
    request = REQUEST.format(len(limit), limit).encode()
    with socket.create_connection(("127.0.0.1", port)) as server, server.makefile("rb") as answers:
        due = time.monotonic()
        while True:
            asked = time.time_ns()
            server.sendall(request)
            first = answers.readline()
            if not first:
                return
            if first == b"*6\r\n":
                is_admitted = [answers.readline() for _ in range(6)][0] == b":1\r\n"
                for _ in range(0 if is_admitted else 2):  # the name of the limit
                    answers.readline()
                if is_admitted:
                    file.write(f"{asked} {time.time_ns()}\n")
            due = max(due + 1 / rate, time.monotonic() - 1)
            time.sleep(max(0.0, due - time.monotonic()))


def main(port, limit, rate, path):
    signal.signal(signal.SIGTERM, stop)
    with open(path, "w") as file, contextlib.suppress(Stop):
        while True:
            with contextlib.suppress(ConnectionError):
                hammer(int(port), limit, float(rate), file)
            time.sleep(PAUSE_S)


if __name__ == "__main__":
    main(*sys.argv[1:])
