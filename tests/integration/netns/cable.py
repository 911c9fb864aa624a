"""A bad cable between two network interfaces: cable.py NEAR FAR DELAY_MS LOSS SEED, until it is killed.

Every frame that comes in at one end goes out at the other, DELAY_MS later, but for the part LOSS of them, which does not.
"""

import collections
import contextlib
import random
import select
import socket
import struct
import sys
import time

ALL_PROTOCOLS = 3
SOL_PACKET, ADD_MEMBERSHIP, PROMISCUOUS, PACKET_OUTGOING = 263, 1, 1, 4
FRAME_BYTES_MAX = 65536


def open_end(name):
    """Hears what is for others too."""
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
    end.bind((name, ALL_PROTOCOLS))
    end.setsockopt(SOL_PACKET, ADD_MEMBERSHIP, struct.pack("IHH8s", socket.if_nametoindex(name), PROMISCUOUS, 0, b""))
    return end


def main(near, far, delay_ms, loss, seed):
    chance = random.Random(int(seed))
    ends = (open_end(near), open_end(far))
    other = {ends[0]: ends[1], ends[1]: ends[0]}
    on_the_way = collections.deque()  # (when, where to, frame): all take the same time, so they stay in order
    while True:
        wait = max(0.0, on_the_way[0][0] - time.monotonic()) if on_the_way else None
        for end in select.select(ends, (), (), wait)[0]:
            frame, address = end.recvfrom(FRAME_BYTES_MAX)
            if address[2] != PACKET_OUTGOING and chance.random() >= float(loss):
                on_the_way.append((time.monotonic() + float(delay_ms) / 1000, other[end], frame))
        while on_the_way and on_the_way[0][0] <= time.monotonic():
            _, end, frame = on_the_way.popleft()
            with contextlib.suppress(OSError):  # the interface may be down
                end.send(frame)


if __name__ == "__main__":
    main(*sys.argv[1:])
