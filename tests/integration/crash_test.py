#!/usr/bin/env python3
"""Kills a server under load, again and again, and looks for anything that it had acknowledged and does not know any more.

    crash_test.py PROGRAM [--kills N] [--seed N]     6 kills, of each kind; 200 with METE_TEST_LONG=1
    crash_test.py PROGRAM --self-test                what a broken server would do, which must be found

Eight clients send random commands in pipelines; the server gets SIGKILL at random moments, some of them while it writes a snapshot, some
while it recovers, and goes on with the same directory. After each start all that the clients have written down is compared
(crash/oracle.py). The seed decides what is sent and when the kills come, but not how the server's threads take turns.
"""

import argparse
import contextlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import harness
from crash import mix, pool
from crash.client import Client
from crash.oracle import LOSS_SECONDS_MAX, Oracle, Tally

CLIENTS = 8
THREADS = 3  # of the server: clients on different ones meet at the journal
KILLS, KILLS_LONG = 6, 200
# So many meters make snapshots and recoveries long enough to be hit.
BULK_METERS = 20_000
LOAD_SECONDS = (0.05, 0.6)
QUIET_SHARE = 0.2             # of the rounds: only commands that need not reach the disk at once,
QUIET_SECONDS = (0.05, 3)     # and long enough that some must have
RECOVERY_KILL_SHARE = 0.25    # of the starts
BGSAVE_SHARE = 0.6            # of the rounds: a snapshot that the kill may hit
SAVE_SHARE = 0.3              # of the rounds: one that is complete
# The rounds that have it for sure, so that a short run has everything.
QUIET_ROUND, BGSAVE_ROUND, RECOVERY_KILL_ROUND, SAVE_ROUND = 2, 1, 3, 2


class CleanUp(contextlib.ExitStack):
    """What harness.Server expects of a test."""
    addCleanup = contextlib.ExitStack.callback


class Run:
    """A directory, its clients, and one server after the other."""

    def __init__(self, clean_up, seed):
        self.clean_up = clean_up
        self.random = random.Random(seed)
        self.folder = Path(tempfile.mkdtemp(prefix="mete-crash-"))
        clean_up.push(self._remove_folder)
        self.is_kept = False  # if it is of interest
        self.directory = self.folder / "data"
        self.clients = [Client(number, seed) for number in range(CLIENTS)]
        self.tally = Tally()
        self.oracle = Oracle(self.clients, self.tally, self.random)
        self.server = None
        self.killed_at = time.monotonic()
        self.round = self.kills = self.kills_in_recovery = self.kills_while_saving = self.operations = 0

    def _remove_folder(self, exception_type, *_):
        if exception_type or self.is_kept:
            print(f"the directory as it is now: {self.directory}")
        else:
            shutil.rmtree(self.folder)

    @property
    def flags(self):
        return ("--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--store", f"embedded:{self.directory}",
                "--snapshot-after", "1mb", "--threads", str(THREADS))

    def start(self):
        self.server = harness.Server(self.clean_up, *self.flags, listen=False)
        harness.wait_until(lambda: self.server.ask("PING") == "PONG", "that the server is ready")

    def set_up(self):
        self.start()
        with self.server.resp() as connection:
            connection.ask("LIMIT", "SET", pool.LIMIT, "STOCK", pool.AMOUNT)
            connection.ask("LIMIT", "SET", "bulk", "BUCKET", 1, "PER", mix.LONG, "BURST", 5, "DURABLE", "everysec")
            for client in self.clients:
                client.define(connection)
            for first in range(0, BULK_METERS, 1000):
                batch = [harness.encode("TAKE", "bulk", f"meter-{number:06}") for number in range(first, first + 1000)]
                connection.send(b"".join(batch))
                assert all(connection.reply()[0] == 1 for _ in batch)
            assert connection.ask("SAVE") == "OK"

    def has(self, sure_round, share):
        """Whether this round has what a share of them has."""
        by_chance = self.random.random() < share
        return by_chance or self.round == sure_round

    def load_and_kill(self):
        """One round, of either kind."""
        self.round += 1
        is_quiet = self.has(QUIET_ROUND, QUIET_SHARE)
        self.load(self.random.uniform(*(QUIET_SECONDS if is_quiet else LOAD_SECONDS)), is_quiet)

    def load(self, seconds, is_quiet):
        """Clients at work, and the end in the midst of it."""
        stop = threading.Event()
        threads = [threading.Thread(target=client.run, args=(self.server.resp_port, is_quiet, stop))
                   for client in self.clients]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        if self.has(BGSAVE_ROUND, BGSAVE_SHARE):
            self.server.ask("BGSAVE")
            time.sleep(self.random.uniform(0, 0.1))
        self.kill()
        stop.set()
        for thread in threads:
            thread.join()
        self.operations += sum(len(client.sent) for client in self.clients)

    def kill(self):
        self.killed_at = time.monotonic()
        self.server.kill()
        self.kills += 1
        self.kills_while_saving += any(self.directory.glob("snapshot-*.tmp"))

    def kill_in_recovery(self):
        process = subprocess.Popen([harness.program, "serve", *self.flags], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(self.random.uniform(0, 0.04))
        process.kill()
        process.wait()
        self.kills += 1
        self.kills_in_recovery += 1

    def restart_and_compare(self, tamper=None):
        if self.has(RECOVERY_KILL_ROUND, RECOVERY_KILL_SHARE):
            self.kill_in_recovery()
        self.start()
        # By now every hold that was to expire has done so.
        time.sleep(max(0.0, self.killed_at + mix.BRIEF_MS / 1000 - time.monotonic()))
        with self.server.resp() as connection:
            if tamper:
                tamper(connection)
            self.oracle.compare(connection, self.killed_at)
            meter = f"meter-{self.random.randrange(BULK_METERS):06}"
            if (reply := connection.ask("USAGE", "bulk", meter))[0] != 1:
                self.tally.lost += 1
                self.tally.reports.append(f"bulk {meter}: {reply}")
            if self.has(SAVE_ROUND, SAVE_SHARE):
                assert connection.ask("SAVE") == "OK"

    def finish(self):
        """A last comparison after an orderly stop."""
        self.killed_at = time.monotonic()
        if (status := self.server.stop()) != 0:
            self.tally.reports.append(f"the server ended with {status}: {self.server.log()}")
            self.tally.wrong += 1
        self.restart_and_compare()
        self.server.kill()

    def summary(self):
        tally = self.tally
        return "\n".join((
            f"{self.kills} kills, {self.kills_in_recovery} of them in a recovery, {self.kills_while_saving} while a snapshot "
            f"was written",
            f"{self.operations:,} operations, {tally.resent:,} sent again with the same id",
            f"{tally.lost} lost acknowledgements",
            f"{tally.double} double charges",
            f"{tally.over} over-admissions",
            f"{tally.wrong} wrong answers",
            f"{tally.loose_lost:,} answered before they were on disk (everysec) and gone, the oldest "
            f"{tally.loose_age:.2f} s before the kill"))


def crash(arguments):
    kills = arguments.kills or (KILLS_LONG if os.environ.get("METE_TEST_LONG") else KILLS)
    print(f"seed {arguments.seed}", flush=True)
    with CleanUp() as clean_up:
        run = Run(clean_up, arguments.seed)
        run.set_up()
        while run.kills < kills and not run.tally.has_failed():
            run.load_and_kill()
            run.restart_and_compare()
        if not run.tally.has_failed():
            run.finish()
        run.is_kept = run.tally.has_failed()
    print(run.summary())
    if run.tally.has_failed():
        print(*run.tally.reports, sep="\n")
        print(f"again: METE_SEED={arguments.seed}, or --seed {arguments.seed}")
    return run.tally.has_failed()


# --- What a broken server would do -------------------------------------------------------------------------------------


def lose(run, is_quiet=False):
    """Starts from the directory as it was a round ago."""
    run.restart_and_compare()
    run.kill()
    copy = run.folder / "copy"
    shutil.copytree(run.directory, copy)
    run.start()
    run.load(2 * LOSS_SECONDS_MAX if is_quiet else 0.3, is_quiet)
    shutil.rmtree(run.directory)
    copy.rename(run.directory)
    run.restart_and_compare()
    return run.tally.lost


def lose_more_than_the_last_second(run):
    lost = lose(run, is_quiet=True)
    assert run.tally.double == run.tally.over == run.tally.wrong == 0, run.tally.reports  # it was this that was found
    return lost


def charge_twice(run):
    run.restart_and_compare(lambda connection: connection.ask("TAKE", "safe-0", "a"))
    return run.tally.double


def end_a_hold(run):
    ids = [sent.words[sent.words.index("ID") + 1] for client in run.clients for sent in client.sent
           if sent.words[0] == "HOLD" and sent.answered_at and not sent.is_of_pool]
    books = [client.mix.book.holds for client in run.clients]
    id = next(id for id in ids if any(id in book and book[id].state == "held" for book in books))
    run.restart_and_compare(lambda connection: connection.ask("CANCEL", id))
    return run.tally.lost


def change_a_definition(run):
    run.restart_and_compare(lambda connection: connection.ask("LIMIT", "SET", "stock-1", "STOCK", 12345))
    return run.tally.lost


def admit_too_much(run):
    run.restart_and_compare(
        lambda connection: connection.ask("TAKE", pool.LIMIT, pool.KEYS[0], "COST", pool.AMOUNT + 1, "FORCE"))
    return run.tally.over


def self_test(arguments):
    missed = []
    for break_it in (lose, lose_more_than_the_last_second, charge_twice, end_a_hold, change_a_definition, admit_too_much):
        with CleanUp() as clean_up:
            run = Run(clean_up, arguments.seed)
            run.set_up()
            run.load(0.3, is_quiet=False)
            is_found = break_it(run) > 0
            run.server.kill()
        print(f"{break_it.__name__}: {'found' if is_found else 'MISSED'}", *run.tally.reports[:2], sep="\n    ")
        if not is_found:
            missed.append(break_it.__name__)
    return bool(missed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--kills", type=int)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("METE_SEED", random.randrange(1 << 32))))
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    harness.program = str(arguments.program.resolve())
    return int(self_test(arguments) if arguments.self_test else crash(arguments))


if __name__ == "__main__":
    sys.exit(main())
