"""One attempt: injects a fault at one system call of a kistd, and checks the result."""

import shutil
import subprocess
from dataclasses import dataclass

from faults.expectation import Broken, Expectation, check_after
from faults.scenarios import Scenario, Template
from frame.kistd import Ended
from frame.tracer import ALL, KILL_AFTER, KILL_BEFORE, Hit, Tracer

KILLS = (KILL_BEFORE, KILL_AFTER)
PATIENCE = 30
# The exit statuses of error codes (docs/protocol.md).
STATUSES = {"unavailable": 7, "full": 13}


@dataclass(frozen=True)
class Fault:
    """The calls to number, the fault, and the error codes that kistd may then answer."""
    counted: object = ALL
    hit: Hit = Hit()
    codes: tuple = ()
    # Whether the fault may end kistd, as a kill does.
    may_end: bool = False


@dataclass
class Result:
    fault: Fault
    hits: int = 0
    events: list = ()
    broken: Broken | None = None
    # Whether kistd continued to serve.
    survived: bool = False

    @property
    def call(self):
        """The first call that was hit."""
        return next((str(event) for event in self.events if event.hit), "none")


class Attempt:
    def __init__(self, scenario: Scenario, template: Template, programs, folder, fault):
        self.scenario, self.fault = scenario, fault
        self.folder = folder
        folder.mkdir()
        template.copy(folder / "home")
        self.tracer = Tracer(programs.tracer, folder, fault.counted, fault.hit, from_hardening=scenario.from_start)
        self.kistd = scenario.kistd(programs.kistd, folder / "home", under=self.tracer.under)
        self.plain = scenario.kistd(programs.kistd, folder / "home")
        self.expectation = Expectation(template.there)
        # The passphrases, exactly one of which opens the store.
        self.passphrases = set(scenario.change[:1]) if scenario.change else set()
        self.is_kill = fault.hit.action in KILLS

    def run(self):
        result = Result(self.fault)
        try:
            self.carry_out(result)
            check_after(self.plain, self.expectation, self.prepare)
        except Broken as broken:
            result.broken = broken
        except TimeoutError:
            result.broken = Broken("wrong", f"no answer within {PATIENCE} s")
        except subprocess.TimeoutExpired:
            result.broken = Broken("wrong", f"it did not end within {PATIENCE} s")
        finally:
            self.plain.kill()
            self.end()
        result.events = list(self.tracer.events())
        return result

    def carry_out(self, result):
        """Runs the scenario, checks the answers, and ends kistd."""
        try:
            self.kistd.spawn()
            connection = self.kistd.connect(PATIENCE)
            self.check_answer(connection.ask(op="hello"))
            for request in self.scenario.before:
                reply = connection.ask(**request)
                if not reply["ok"]:
                    raise Broken("wrong", f"before the fault, {request['op']} received {reply['error']}")
                if "account" in request:
                    self.expectation.asked(request, reply)
            if not self.scenario.from_start:
                self.tracer.arm()
            self.ask()
            if self.scenario.ends:
                self.kistd.process.terminate()
                self.ended(self.kistd.wait(PATIENCE), result)
                return
            result.hits = self.tracer.disarm()
            self.judge_alive(connection, result)
        except Ended:
            self.ended(self.kistd.wait(PATIENCE), result)

    def ask(self):
        """Sends all changes at once, each over its own connection, and handles the answers."""
        asked = [(request, self.kistd.connect(PATIENCE)) for request in self.scenario.changes]
        for request, connection in asked:
            try:
                connection.send(**request)
            except Ended:
                pass
        ended = False
        for request, connection in asked:
            try:
                reply = connection.receive()
                self.check_answer(reply)
            except Ended:
                reply, ended = None, True
            self.expectation.asked(request, reply)
            connection.close()
        if ended:
            raise Ended
        for request in self.scenario.requests:
            before = self.passphrases
            # Without an answer, either passphrase may open the store.
            self.passphrases = set(self.scenario.change or ())
            with self.kistd.connect(PATIENCE) as connection:
                reply = connection.ask(**request)
                if before and reply["ok"]:
                    self.passphrases = set(self.scenario.change[1:])
                elif before and reply["error"].get("outcome") == "unchanged":
                    self.passphrases = before
                self.check_answer(reply)

    def check_answer(self, reply):
        if not reply["ok"] and reply["error"]["code"] not in self.fault.codes:
            raise Broken("wrong", f"received {reply['error']}")

    def judge_alive(self, connection, result):
        """Checks a kistd that continued: its answers are right, and after the fault it saves again."""
        self.expectation.check(connection, codes=("locked",) if self.scenario.requests else ())
        self.unlock(connection)
        self.expectation.save(connection, "next", "one")
        self.expectation.check_whole(connection)
        result.survived = True
        self.end()

    def prepare(self, connection):
        self.unlock(connection)
        if not self.scenario.change:
            return
        opening = {each for each in self.scenario.change if connection.ask(op="unlock", passphrase=each)["ok"]}
        if len(opening) != 1 or not opening <= self.passphrases:
            raise Broken("lost", f"it opens with {sorted(opening)}, not with one of {sorted(self.passphrases)}")

    def unlock(self, connection):
        """Unlocks the store if the fault left it locked."""
        if self.scenario.requests and connection.ask(op="status")["status"]["locked"]:
            passphrase = self.scenario.passphrase
            reply = connection.ask(op="unlock", **({"passphrase": passphrase.decode()} if passphrase else {}))
            if not reply["ok"]:
                raise Broken("wrong", f"an unlock afterwards received {reply['error']}")

    def ended(self, status, result):
        """Checks an ended kistd: it must have been killed or stopped, or have printed a message."""
        result.hits = self.tracer.disarm()
        if result.hits == 0 and not self.scenario.ends:
            raise Broken("wrong", f"it ended with {status} without a fault: {self.kistd.said()[-300:]}")
        if self.is_kill and result.hits or status == 0 and self.scenario.ends:
            return
        if status in [STATUSES[code] for code in self.fault.codes] and self.kistd.said():
            return
        if not self.fault.may_end:
            raise Broken("wrong", f"it ended with {status}: {self.kistd.said()[-300:]}")

    def end(self):
        self.tracer.kill()
        if self.kistd.process is not None:
            self.kistd.wait(PATIENCE)

    def remove(self):
        shutil.rmtree(self.folder)
