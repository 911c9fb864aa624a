"""Oracle: compares a server that was killed and started again with what its clients have written down.

The journal is one sequence, and so is what a client sends. So what must last stands where the client's book stands after some number of its
commands: at least all of those that were answered, at most all that were sent. What is answered before it is on disk is written at
most twice in half a second, each meter and key for itself: so each stands where the book stands after some number of commands of its
own, at least those that are older than a second or so. Then what was in flight is sent again, where that is safe; after that nothing is
left open.
"""

import time
from dataclasses import dataclass, field

from crash import mix, pool
from harness import encode

# What is answered before it is on disk is synced every half second: so a loss is at most about a second old, on a busy machine.
LOSS_SECONDS_MAX = 1.5
REPEATED = 20   # of each client's answered operations with ids, at each comparison
ASKED_AT_ONCE = 200


@dataclass
class Tally:
    lost: int = 0            # acknowledgements
    double: int = 0          # charges
    over: int = 0            # admissions
    wrong: int = 0           # answers
    loose_lost: int = 0      # answered, not on disk yet, and gone: that is allowed
    loose_age: float = 0.0   # of the oldest of these
    resent: int = 0
    reports: list = field(default_factory=list)

    def has_failed(self):
        return bool(self.lost or self.double or self.over or self.wrong)


def ask_all(connection, questions):
    replies = []
    for first in range(0, len(questions), ASKED_AT_ONCE):
        some = questions[first:first + ASKED_AT_ONCE]
        connection.send(b"".join(encode(*words) for words in some))
        replies += [connection.reply() for _ in some]
    return replies


class Oracle:
    def __init__(self, clients, tally, random):
        self.clients = clients
        self.tally = tally
        self.random = random

    def compare(self, connection, killed_at):
        """Everything, right after a start. Clients go on from what was found."""
        for client in self.clients:
            self.tally.wrong += len(client.problems)
            self.tally.reports += client.problems
            client.problems.clear()
        self._compare_pool(connection, is_exact=False)
        candidates = {}
        for client in self.clients:
            found = self._find(client, connection, killed_at)
            candidates[client] = self._send_again(client, connection, found)
            self._repeat(client, connection)
        time.sleep(mix.BRIEF_MS / 1000)  # brief holds may have been made just now
        for client in self.clients:
            client.begin(self._settle(client, connection, candidates[client]))
        self._compare_pool(connection, is_exact=True)
        # Some of what was sent again need not be on disk yet: this must be, and what came before it with it.
        assert connection.ask("TAKE", pool.LIMIT, f"mark {killed_at}")[0] == 1

    # --- One client ---------------------------------------------------------------------------------------------------

    def _find(self, client, connection, killed_at):
        """The books that the server agrees with."""
        questions = list(client.mix.questions(client.base.holds.keys() | client.mix.book.holds.keys()))
        answers = list(zip(questions, ask_all(connection, questions)))
        lasting = [answer for answer in answers if not mix.is_loose(answer[0])]
        low = self._least(client, lambda sent: sent.must_last)
        books = [book for _, book in self._agreeing(client, lasting, low)]
        if not books:
            self._diagnose(client, lasting, low)
            return []
        for words, reply in answers:
            if mix.is_loose(words):
                self._find_loose(client, (words, reply), killed_at, books)
        return books

    def _find_loose(self, client, answer, killed_at, books):
        """Where one meter or key stands for itself; the books get it."""
        words, _ = answer
        low = self._least(client, lambda sent: words[1] in sent.words and (
            sent.must_last or sent.answered_at < killed_at - LOSS_SECONDS_MAX))
        agreeing = self._agreeing(client, [answer], low)
        if not agreeing:
            self._diagnose(client, [answer], low)
            return
        count, found = agreeing[-1]
        for book in books:
            book.copy_entity(words, found)
        self._count_loose([sent for sent in client.sent[count:] if words[1] in sent.words], killed_at)

    @staticmethod
    def _least(client, must_be_there):
        """How many of its commands must be there at least."""
        low = 0
        for index, sent in enumerate(client.sent):
            if sent.answered_at and must_be_there(sent):
                low = index + 1
        return low

    @staticmethod
    def _books(client, low):
        """The book after each number of commands from `low` on; it is the next one's when that is asked for."""
        book = client.base.copy()
        for index in range(len(client.sent) + 1):
            if index >= low:
                yield index, book
            if index < len(client.sent) and not client.sent[index].is_of_pool:
                book.apply(client.sent[index].words)

    def _agreeing(self, client, answers, low):
        """[(number of commands, book)]"""
        found = []
        for count, book in self._books(client, low):
            wrong = next((at for at, (words, reply) in enumerate(answers) if book.apply(words) != reply), None)
            if wrong is None:
                found.append((count, book.copy()))
            else:
                answers.insert(0, answers.pop(wrong))  # what told them apart will do so again
        return found

    def _count_loose(self, sent_later, killed_at):
        gone = [sent for sent in sent_later if sent.answered_at and sent.has_changed]
        self.tally.loose_lost += len(gone)
        if gone:
            self.tally.loose_age = max(self.tally.loose_age, killed_at - gone[0].answered_at)

    def _send_again(self, client, connection, candidates):
        for sent in client.sent:
            if sent.answered_at or not sent.is_repeatable:
                continue
            reply = connection.ask(*sent.words)
            self.tally.resent += 1
            if sent.is_of_pool:
                if problem := client.member.note(sent.words, reply):
                    self._tell_wrong(client, sent.words, problem)
                continue
            agreeing = [book for book in candidates if book.apply(sent.words) == reply]
            if candidates and not agreeing:
                self._tell_wrong(client, sent.words, f"sent again, it got {reply}")
            candidates = agreeing
        return candidates

    def _repeat(self, client, connection):
        """What was answered long ago gets the very same answer."""
        known = client.repeatable
        chosen = self.random.sample(known, min(REPEATED, len(known)))
        for sent, reply in zip(chosen, ask_all(connection, [sent.words for sent in chosen])):
            self.tally.resent += 1
            if reply != sent.reply:
                self._tell_wrong(client, sent.words, f"it got {sent.reply}, and {reply} when it was sent again")

    def _settle(self, client, connection, candidates):
        """The one book that is left, after everything has an answer."""
        if not candidates:
            return client.mix.book
        old = candidates[-1].old_holds
        some = self.random.sample(list(old), min(REPEATED, len(old)))
        questions = list(client.mix.questions([*candidates[-1].holds, *some]))
        answers = list(zip(questions, ask_all(connection, questions)))
        for book in candidates:
            if all(book.apply(words) == reply for words, reply in answers):
                return book
        self._tell_difference(client, answers, candidates[-1], "after everything in flight was sent again")
        return candidates[-1]

    # --- What is wrong ------------------------------------------------------------------------------------------------

    def _tell_wrong(self, client, words, problem):
        self.tally.wrong += 1
        self.tally.reports.append(f"client {client.number}: {words}: {problem}")

    def _diagnose(self, client, answers, low):
        """No book agrees that might. Does an earlier one?"""
        earlier = [count for count, _ in self._agreeing(client, answers, 0) if count < low]
        if not earlier:
            _, count, book = self._nearest(client, answers, low)
            self._tell_difference(client, answers, book, f"no number of its commands leads to this; nearest is {count} of "
                                  f"{len(client.sent)}")
            return
        count = earlier[-1]
        gone = [sent for sent in client.sent[count:low] if sent.answered_at]
        self.tally.lost += len(gone)
        self.tally.reports.append(
            f"client {client.number}: {len(gone)} acknowledged commands are lost: it stands after {count} of its "
            f"{len(client.sent)}, and must stand after {low} at least; the first: {gone[0].words} → {gone[0].reply}")

    def _nearest(self, client, answers, low):
        """(differences, number of commands, book), with the fewest differences."""
        def rate(count, book):
            return sum(book.apply(words) != reply for words, reply in answers), count, book.copy()

        return min((rate(count, book) for count, book in self._books(client, low)), key=lambda rated: rated[0])

    def _tell_difference(self, client, answers, book, when):
        is_charged_twice = False
        lines = []
        for words, reply in answers:
            expected = book.apply(words)
            if expected == reply:
                continue
            lines.append(f"    {words}: expected {expected}, got {reply}")
            if words[0] == "USAGE" and isinstance(reply, list) and isinstance(expected, list):
                is_charged_twice |= reply[0] + reply[1] > expected[0] + expected[1]
        if is_charged_twice:
            self.tally.double += 1
        else:
            self.tally.lost += 1
        self.tally.reports.append(f"client {client.number}: {when}:\n" + "\n".join(lines))

    # --- The pool -----------------------------------------------------------------------------------------------------

    def _compare_pool(self, connection, is_exact):
        members = [client.member for client in self.clients]
        in_flight = [(client.member, sent.words) for client in self.clients for sent in client.sent
                     if sent.is_of_pool and not sent.answered_at]
        for key, (used_bounds, held_bounds) in pool.bounds(members, in_flight).items():
            used, held, *_ = reply = connection.ask("USAGE", pool.LIMIT, key)
            if used + held > pool.AMOUNT:
                self.tally.over += 1
                self.tally.reports.append(f"pool {key}: {used} used and {held} held of {pool.AMOUNT}")
            for what, value, (least, most) in (("used", used, used_bounds), ("held", held, held_bounds)):
                if least <= value <= most:
                    continue
                if value < least:
                    self.tally.lost += 1
                else:
                    self.tally.double += 1
                open_text = "" if is_exact else f", {len(in_flight)} operations in flight"
                self.tally.reports.append(f"pool {key}: {what} must be {least} to {most}{open_text}: {reply}")
