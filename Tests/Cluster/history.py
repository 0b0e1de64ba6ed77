"""Clients that change a vault at the same time, and a check of what they were answered."""

import base64
import itertools
import threading
import time

from etcd_nodes import encoded, row


class Client:
    """Reads the head and replaces it, again and again, at one kist-etcd."""

    def __init__(self, number, adapter):
        self.number, self.adapter = number, adapter
        # Heads that were read: (time before, time after, sequence).
        self.reads = []
        # Attempts: (time before, time after, sequence, text of the head, outcome, position).
        self.attempts = []

    def step(self, attempt):
        before = time.monotonic()
        reading = self.call(op="head", generation=1)
        if not reading.get("ok"):
            time.sleep(0.05)
            return
        head = reading["head"]
        sequence = int(base64.b64decode(head).split()[1]) if head else 0
        self.reads.append((before, time.monotonic(), sequence))
        text = b"head %d by %d: %d" % (sequence + 1, self.number, attempt)
        log = f"00000001/log/{sequence + 1:016x}"
        puts = dict.fromkeys(["00000001/head", log, row(self.number, attempt % 256)], encoded(text))
        before = time.monotonic()
        reply = self.call(
            op="commit", expected={"generation": 1, "head": head}, puts=puts, deletes=[row(self.number, (attempt + 9) % 256)])
        if reply.get("ok"):
            outcome = "made" if reply["committed"] else "not made"
        else:
            # Without a reply, kist-etcd ended, or its connection did.
            outcome = reply["error"]["outcome"] if reply else "unknown"
        self.attempts.append((before, time.monotonic(), sequence + 1, text, outcome, reply.get("position")))

    def call(self, **request):
        try:
            return self.adapter().call(**request) or {}
        except OSError:
            return {}


class Watcher:
    """Follows the changes of generation 1, and resumes after each end from where it was."""

    def __init__(self, adapter, after):
        self.adapter, self.after = adapter, after
        # The commits: (position, names of puts, text of the head or `None`).
        self.commits = []
        # Positions after which commits were discarded before they were reported, with the position of the next start.
        self.holes = []
        self.connection = None
        # The time before it resumes, in seconds.
        self.pause = 0

    def step(self, _):
        time.sleep(self.pause)
        try:
            self.connection, reply = self.adapter().changes(1, str(self.after))
            if not reply or not reply["ok"]:
                time.sleep(0.05)
                return
            while event := self.connection.read():
                if event.get("event") == "compacted":
                    head = self.adapter().call(op="head", generation=1) or {}
                    if head.get("ok"):
                        self.holes.append((self.after, int(head["position"])))
                        self.after = int(head["position"])
                    return
                if "error" in event:
                    return
                self.after = int(event["position"])
                head = event["puts"].get("00000001/head")
                self.commits.append((self.after, sorted(event["puts"]), base64.b64decode(head) if head else None))
        except OSError:
            time.sleep(0.05)
        finally:
            if self.connection:
                self.connection.close()


class Traffic:
    """Clients and a watcher for each kist-etcd, until `end`."""

    def __init__(self, adapters):
        """`adapters` are functions that return the kist-etcd to use."""
        start = int(adapters[0]().call(op="head", generation=1)["position"])
        self.clients = [Client(number, adapter) for number, adapter in enumerate(adapters)]
        self.watchers = [Watcher(adapter, start) for adapter in adapters]
        self.no_more_commits, self.no_more_events = threading.Event(), threading.Event()
        self.threads = [self.repeat(client, self.no_more_commits) for client in self.clients]
        for watcher in self.watchers:
            self.repeat(watcher, self.no_more_events)

    @staticmethod
    def repeat(each, end):
        def run():
            for attempt in itertools.count():
                if end.is_set():
                    return
                each.step(attempt)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def made(self):
        return sum(attempt[4] == "made" for client in self.clients for attempt in client.attempts)

    def outcomes(self):
        found = [attempt[4] for client in self.clients for attempt in client.attempts]
        return {outcome: found.count(outcome) for outcome in sorted(set(found))}

    def wait_for(self, commits, seconds=60):
        """Waits until a number of further commits was made."""
        end, goal = time.monotonic() + seconds, self.made() + commits
        while self.made() < goal:
            assert time.monotonic() < end, f"{self.made()} commits of {goal} after {seconds} s: {self.outcomes()}"
            time.sleep(0.05)

    def end(self):
        """Ends the clients, and then the watchers once they have seen the last commit."""
        self.no_more_commits.set()
        for thread in self.threads:
            thread.join(60)
        last = max(int(attempt[5]) for client in self.clients for attempt in client.attempts if attempt[4] == "made")
        deadline = time.monotonic() + 60
        while behind := [watcher.after for watcher in self.watchers if watcher.after < last]:
            assert time.monotonic() < deadline, f"watchers are at {behind}; the last commit is at {last}"
            time.sleep(0.05)
        self.end_threads()

    def end_threads(self):
        self.no_more_commits.set()
        self.no_more_events.set()


def check(traffic, stored):
    """Raises an error if an answer was wrong; `stored` maps the sequences in the log of etcd to their heads."""
    attempts = [attempt for client in traffic.clients for attempt in client.attempts]
    assert sorted(stored) == list(range(1, len(stored) + 1)), "the log has gaps"
    texts = {text: sequence for sequence, text in stored.items()}
    for _, _, sequence, text, outcome, _ in attempts:
        if outcome == "made":
            assert stored.get(sequence) == text, f"an answered commit is lost: {text}"
        elif outcome != "unknown":
            assert text not in texts, f"a commit was made although the answer was {outcome}: {text}"
    assert set(texts) <= {attempt[3] for attempt in attempts}, "the log has a commit that no client made"
    check_order(traffic, attempts)
    for watcher in traffic.watchers:
        check_watcher(watcher, stored, {text: int(position) for *_, text, outcome, position in attempts if outcome == "made"})


def check_order(traffic, attempts):
    """No read returns an older head than one that was answered before the read began."""
    known = [(after, sequence) for client in traffic.clients for _, after, sequence in client.reads]
    known += [(attempt[1], attempt[2]) for attempt in attempts if attempt[4] == "made"]
    known.sort()
    reads = sorted((before, sequence) for client in traffic.clients for before, _, sequence in client.reads)
    latest, index = 0, 0
    for before, sequence in reads:
        while index < len(known) and known[index][0] < before:
            latest = max(latest, known[index][1])
            index += 1
        assert sequence >= latest, f"a read returned head {sequence} after {latest} was answered"


def check_watcher(watcher, stored, positions):
    """Each commit was reported once, in order, with its head and its row, except those that were discarded before."""
    reported = [int(text.split()[1]) for _, _, text in watcher.commits if text]
    assert reported == sorted(set(reported)), "commits were reported twice or out of order"
    for position, names, text in watcher.commits:
        if not text:
            continue
        assert stored[int(text.split()[1])] == text, f"a commit that is not in the log was reported: {text}"
        assert len(names) == 2, f"a commit was reported without some writes: {names}"
        assert positions.get(text, position) == position, f"the position of a commit differs: {text}"
    for sequence in set(stored) - set(reported):
        position = positions.get(stored[sequence])
        # The position of a commit without an answer is between those of its neighbours.
        if position is None:
            before = [positions[stored[other]] for other in stored if other < sequence and stored[other] in positions]
            position = max(before, default=0) + 1
        last = watcher.commits[-1][0] if watcher.commits else 0
        assert position > last or any(start <= position <= end for start, end in watcher.holes), (
            f"commit {sequence} at {position} was not reported")
