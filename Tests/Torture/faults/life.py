"""Lives of a store under the tracer: the requests, the replies, and every call that changed its disk."""

import copy
from pathlib import Path

from faults.disk import Directory, taken_in
from faults.expectation import Expectation
from faults.recording import RECORDED, Replay
from faults.scenarios import LARGE, THERE, delete, save
from frame.kistd import Ended, Kistd
from frame.tracer import Hit, Tracer

CLIENTS = 4


def script(random, client, changes):
    """Yields the requests of one client, for its own accounts."""
    for number in range(changes):
        account = f"{client}-{random.randrange(6)}"
        if random.random() < 0.2:
            yield delete(account)
        else:
            yield save(account, f"{number} " * random.choice([1, 10, 200, 3000]))


class Life:
    """A store in a folder, served by one kistd after another."""

    def __init__(self, context, folder, there, key="key"):
        self.kistd_program, self.tracer_program = context.kistd, context.compile(Path("tracer/tracer.c"))
        self.folder, self.there, self.key = folder, there, key
        self.requests = {}
        # The numbers of the requests of each client, in order.
        self.order = {}
        # The calls of each kistd.
        self.runs = []
        self.disk = taken_in(folder)

    def serve(self, work, end, hit=Hit()):
        """Runs a kistd; the function `end` ends it, given the kistd and its tracer."""
        logs = self.folder.parent / f"{self.folder.name} calls {len(self.runs)}"
        logs.mkdir()
        tracer = Tracer(self.tracer_program, logs, RECORDED, hit, from_hardening=True)
        # Lines of the audit log may be lost in a power cut.
        kistd = Kistd(self.kistd_program, self.folder, "--deadline", "15s", "--audit", "off", under=tracer.under,
                      key=self.key)
        try:
            kistd.start().close()
            work(kistd)
            end(kistd, tracer)
        except Ended:
            pass
        finally:
            tracer.kill()
            if kistd.process:
                kistd.wait()
        self.runs.append(list(tracer.events()))
        return self.runs[-1]

    def ask_at_once(self, kistd, scripts):
        """Sends the requests of all clients at once; each client waits for a reply before its next request."""
        waiting = {client: list(script) for client, script in enumerate(scripts)}
        connections = {client: kistd.connect() for client in waiting}
        while waiting := {client: requests for client, requests in waiting.items() if requests}:
            for client, requests in waiting.items():
                self.send(connections[client], client, requests.pop(0))
            for client in waiting:
                connections[client].receive()
        for connection in connections.values():
            connection.close()

    def send(self, connection, client, request):
        number = len(self.requests) + 1
        self.requests[number] = request
        self.order.setdefault(client, []).append(number)
        connection.send(id=number, **request)

    def replayed(self, ignoring_flushes=False):
        """Yields the disk after each step, with the kind of step and the replies so far."""
        replay = Replay(self.folder, copy.deepcopy(self.disk), ignoring_flushes)
        answered = {}
        for events in self.runs:
            for step, replies in replay.steps(events):
                answered.update((reply["id"], reply) for reply in replies if "id" in reply)
                yield replay.root, step, answered

    def expectation(self, answered):
        """Expects the changes with a reply; the next change of each client may be stored, too."""
        expected = Expectation(self.there)
        for numbers in self.order.values():
            for number in numbers:
                reply = answered.get(number)
                expected.asked(self.requests[number], reply)
                if reply is None:
                    break
        return expected


def kill(kistd, tracer):
    tracer.kill()


def end(kistd, tracer):
    kistd.process.terminate()
    kistd.wait()


def long_life(context, changes):
    """Records the first start, a kill, a normal end and another start, with changes in each, and more than the log holds.

    The folders exist before the start, but their names are not yet durable."""
    folder = context.folder / "recorded"
    folder.mkdir(mode=0o700)
    life, random = Life(context, folder, {}, key="state/key"), context.random("recording")
    for name in ("data", "state"):
        (folder / name).mkdir(mode=0o700)
        life.disk.change({name: Directory()})

    def serve(kistd):
        life.ask_at_once(kistd, [script(random, client, changes // 3 // CLIENTS) for client in range(CLIENTS)])

    def serve_and_fill(kistd):
        # Enough for SQLite to copy the log into the database, and to restart the log.
        serve(kistd)
        with kistd.connect() as connection:
            for number in range(10):
                life.send(connection, CLIENTS, save("large", f"{number} {LARGE}"))
                connection.receive()
        serve(kistd)

    life.serve(serve, kill)
    life.serve(serve_and_fill, end)
    life.serve(serve, end)
    return life


def short_life(context, folder, hit=Hit(), finish=end):
    """Records a start on a store with failing calls, six changes, and an end or a kill.

    Then it records another start, two changes and the end, without failures."""
    life = Life(context, folder, THERE)
    changes = [save("alice", "new"), save("carol", "new " * 2000), delete("bob"), save("alice", "newer"),
               save("dave", "new"), save("alice", "newest")]
    life.serve(lambda kistd: life.ask_at_once(kistd, [changes]), finish, hit)
    life.serve(lambda kistd: life.ask_at_once(kistd, [[save("dave", "newer"), save("erin", "new")]]), end)
    return life
