"""HTTP/2 by hand, for clients that no library would be: frames, headers that no table has, and a connection of gRPC."""

import struct

import harness

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
INITIAL_WINDOW_SIZE = 4  # of the settings


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def settings(**values):
    numbers = {"window": INITIAL_WINDOW_SIZE}
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", numbers[name], value) for name, value in values.items()))


def text(value):
    """A text of any length, not Huffman's."""
    value = value if isinstance(value, bytes) else value.encode()
    size, prefix = len(value), b""
    if size >= 127:
        prefix, size = b"\x7f", size - 127
        while size >= 128:
            prefix, size = prefix + bytes([size % 128 + 128]), size // 128
    return prefix + bytes([size]) + value


def literal(name, value, is_remembered=False):
    """A header that no table has; or that goes into the table, as number 62."""
    return (b"\x40" if is_remembered else b"\0") + text(name) + text(value)


def request(path, *more):
    return b"".join(literal(*pair) for pair in [
        (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "here"), ("te", "trailers"),
        ("content-type", "application/grpc"), *more])


def message(data=b""):
    return struct.pack(">BI", 0, len(data)) + data


class Grpc(harness.Socket):
    """A connection to the gRPC door, which has said hello."""

    def __init__(self, port, source=None, **values):
        super().__init__(port, source=source)
        self.send(PREFACE + settings(**values))

    def call(self, stream, path, *messages, password=None, ends=True):
        headers = [("authorization", f"Bearer {password}")] if password else []
        data = b"".join(map(message, messages))
        self.send(frame(HEADERS, END_HEADERS, stream, request(path, *headers)) +
                  frame(DATA, END_STREAM if ends else 0, stream, data))

    def next_frame(self):
        """(kind, flags, stream, payload); EOFError at the end."""
        head = self.read(9)
        return head[3], head[4], struct.unpack(">I", head[5:])[0], self.read(int.from_bytes(head[:3], "big"))

    def next_of(self, *kinds):
        while True:
            found = self.next_frame()
            if found[0] in kinds and not (found[0] in (SETTINGS, PING) and found[1] & ACK):
                return found

    def answer(self):
        """The next message that comes, of whatever call; EOFError if the server closes before."""
        return self.next_of(DATA)[3][5:]
