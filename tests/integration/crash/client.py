"""Client: sends random commands in pipelines until the server dies, and writes down what it sent and what it was answered."""

import random
import time
from dataclasses import dataclass

from crash import mix, pool
from harness import Resp, encode

PIPELINE_MAX = 16
PAUSE_SECONDS_MAX = 0.1
POOL_SHARE = 0.3  # of all commands


@dataclass
class Sent:
    words: tuple
    expected: object    # None with the pool, where nobody knows before
    is_of_pool: bool
    has_changed: bool   # anything
    must_last: bool     # once it is answered
    reply: object = None
    answered_at: float | None = None  # None: it is in flight

    @property
    def is_repeatable(self):
        """Whether it may be sent again without being carried out twice."""
        return "ID" in self.words or self.words[0] in ("COMMIT", "CANCEL")


class Client:
    def __init__(self, number, seed):
        self.random = random.Random(f"{seed} {number}")
        self.number = number
        self.mix = mix.Mix(number, self.random)
        self.member = pool.Member(number, self.random)
        self.base = self.mix.book.copy()  # as of the last comparison
        self.sent = []                    # since then
        self.repeatable = []              # everything with an id that must last, with its answer
        self.problems = []

    def begin(self, book):
        """From now on this is how things stand."""
        for sent in self.sent:
            if sent.answered_at and sent.must_last and "ID" in sent.words:
                self.repeatable.append(sent)
        book.put_away()
        self.mix.book = book
        self.base = book.copy()
        self.sent = []

    def run(self, port, is_quiet, stop):
        """Until the server is gone, or `stop` is set. Quiet: only what need not reach the disk at once, and with pauses."""
        try:
            with Resp(port) as connection:
                while not stop.wait(self.random.uniform(0, PAUSE_SECONDS_MAX) if is_quiet else 0):
                    self.exchange(connection, [self._next(is_quiet)
                                               for _ in range(self.random.randint(1, PIPELINE_MAX))])
        except (OSError, EOFError):
            pass

    def exchange(self, connection, batch):
        self.sent += batch
        connection.send(b"".join(encode(*sent.words) for sent in batch))
        for sent in batch:
            self._note(sent, connection.reply())

    def define(self, connection):
        self.exchange(connection, [self._own(words) for words in self.mix.definitions()])

    def _next(self, is_quiet):
        if is_quiet:
            return self._own(self.mix.quick())
        if self.random.random() < POOL_SHARE:
            words = self.member.next()
            has_changed = words[0] != "USAGE"
            return Sent(words, None, True, has_changed, must_last=has_changed)
        return self._own(self.mix.next())

    def _own(self, words):
        book = self.mix.book
        expected = book.apply(words)
        return Sent(words, expected, False, book.has_changed, must_last=book.has_changed and book.is_durable)

    def _note(self, sent, reply):
        sent.reply, sent.answered_at = reply, time.monotonic()
        if sent.is_of_pool:
            problem = self.member.note(sent.words, reply)
        else:
            problem = None if sent.expected == reply else f"expected {sent.expected}, got {reply}"
        if problem:
            self.problems.append(f"client {self.number}: {sent.words}: {problem}")
