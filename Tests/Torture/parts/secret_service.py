"""SIGKILL under load: programs store items on the bus while kistd and kist-secret-service are killed at random moments."""

import signal
import threading
import time

from frame.kistd import Kistd
from frame.provider import Program, Provider, Refused, wait_until
from frame.row import Row

PROGRAMS = 8
ITEMS = 4
# The longest delay in seconds: from the middle of the start to some hundred stores later.
LONGEST = 0.4
# The errors while a program is away, and after it was started again.
AWAY = {"org.freedesktop.DBus.Error." + name
        for name in ("ServiceUnknown", "NameHasNoOwner", "NoReply", "Disconnected", "Failed")}
NO_SESSION = "org.freedesktop.Secret.Error.NoSession"
# After a second lock during the call that opens the storage.
LOCKED = "org.freedesktop.Secret.Error.IsLocked"
NO_SUCH_OBJECT = "org.freedesktop.Secret.Error.NoSuchObject"


class Item:
    """The attributes of an item, and its possible states: secrets, or None if it does not exist.

    The states are in the order of their calls. All except the first are of calls without an answer."""

    def __init__(self, program, number):
        self.attributes = {"program": str(program), "number": str(number)}
        if number % 2:
            # A natural key, as most programs have one.
            self.attributes = {"service": f"torture {program}", "username": str(number)}
        self.name = " ".join(self.attributes.values())
        self.states = [None]
        self.path = None
        self.count = 0

    def next_secret(self):
        self.count += 1
        return f"{self.name} {self.count} ".encode() * (1 + self.count * 7 % 60)

    def take(self, state):
        """Takes a state that was read. Returns whether it is possible."""
        if state not in self.states:
            return False
        # Calls without an answer before this state are settled.
        self.states = self.states[self.states.index(state):]
        return True


class Load(threading.Thread):
    """A program that stores, changes, reads and deletes its own items."""

    def __init__(self, number, address, random, row):
        super().__init__(daemon=True)
        self.items = [Item(number, each) for each in range(ITEMS)]
        self.address, self.random, self.row = address, random, row
        self.ends, self.stored, self.read, self.doing = False, 0, 0, "OpenSession"

    def run(self):
        with Program(self.address) as program:
            while not self.ends and not self.row.findings:
                try:
                    if program.session is None:
                        program.open_session()
                    self.work(program, self.random.choice(self.items))
                except Refused as error:
                    if error.name == NO_SESSION:
                        program.session = None
                    elif error.name in AWAY or error.name == LOCKED:
                        time.sleep(0.002)
                    else:
                        self.row.wrong.append(f"{self.doing} received {error}")
                except TimeoutError:
                    self.row.wrong.append(f"{self.doing} received no answer")

    def work(self, program, item):
        choice = self.random.random()
        if choice < 0.5 or item.path is None:
            self.change("CreateItem", item, item.next_secret(), lambda secret: self.create(program, item, secret))
        elif choice < 0.65:
            self.change("SetSecret", item, item.next_secret(), lambda secret: program.set_secret(item.path, secret))
        elif choice < 0.7:
            self.change("Delete", item, None, lambda _: program.delete(item.path))
        else:
            self.doing = f"a search for {item.name}"
            self.check(program, item)

    def create(self, program, item, secret):
        item.path = program.create(secret, item.attributes, label=item.name)

    def change(self, what, item, state, call):
        self.doing = f"{what} of {item.name}, {len(item.states)} possible states,"
        try:
            call(state)
        except Refused as error:
            if error.name == NO_SUCH_OBJECT and item.take(None):
                item.path = None
            else:
                # The call may have been performed without an answer.
                if error.name not in (NO_SESSION, LOCKED, "org.freedesktop.DBus.Error.ServiceUnknown"):
                    item.states.append(state)
                raise
            return
        item.states = [state]
        if state is None:
            item.path = None
        self.stored += 1

    def check(self, program, item):
        """Checks the secret that a search finds."""
        found = program.search(item.attributes)
        secrets = program.secrets(found)
        if len(secrets) < len(found):
            return  # It was deleted by a call without an answer, which kistd performed in between.
        if len(found) > 1:
            self.row.wrong.append(f"{len(found)} items have the attributes of {item.name}")
        item.path = found[0] if found else None
        secret = secrets[found[0]] if found else None
        if not item.take(secret):
            kind = self.row.wrong if secret is not None and None in item.states else self.row.lost
            states = [(each or b"nothing")[:40] for each in item.states]
            kind.append(f"{item.name}: the search found {(secret or b'nothing')[:40]}, not {states}")
        self.read += 1


def run(context):
    row = Row(what=f"SIGKILL of kistd and kist-secret-service at random moments, {PROGRAMS} programs on the bus")
    began = time.monotonic()
    random = context.random("secret service")
    kistd = Kistd(context.kistd, context.folder / "home")
    kistd.start().close()
    provider = Provider(context.binaries / "kist-secret-service", kistd)
    provider.start_bus()
    programs = [Load(each, provider.address, context.random("program", each), row) for each in range(PROGRAMS)]
    try:
        provider.start()
        for program in programs:
            program.start()
        while time.monotonic() - began < context.seconds and not row.findings:
            time.sleep(random.uniform(0, LONGEST))
            disturb(random.choice(DISTURBANCES), kistd, provider, row)
            row.tries += 1
        end(programs)
        check_all(kistd, provider, programs, row)
    finally:
        end(programs)
        provider.stop()
        kistd.kill()
    row.note = (f"{sum(each.stored for each in programs):,} stores answered, "
                f"{sum(each.read for each in programs):,} secrets checked")
    if sum(each.stored for each in programs) < row.tries:
        row.wrong.append("too few stores for a meaningful result")
    if row.findings:
        row.wrong.append(f"the store is kept in {context.keep(kistd.folder, 'store')}")
    row.seconds = time.monotonic() - began
    yield row


DISTURBANCES = ["kill kistd", "kill the provider", "kill both", "stop kistd", "reload kistd", "lock kistd"]


def disturb(how, kistd, provider, row):
    """Disturbs the programs in the middle of their calls, and starts again what ended."""
    for name, process in (("kistd", kistd.process), ("kist-secret-service", provider.process)):
        if process.poll() is not None:
            row.wrong.append(f"{name} ended by itself: {(kistd if name == 'kistd' else provider).said()[-500:]}")
    if how in ("stop kistd", "reload kistd", "lock kistd"):
        # A kistd that does not answer yet does not handle signals either.
        with kistd.connect() as connection:
            connection.ask(op="hello")
            if how == "lock kistd":
                # The key file opens it again at the next call.
                connection.ask(op="lock")
    match how:
        case "kill kistd":
            kistd.kill()
        case "kill the provider":
            provider.kill()
        case "kill both":
            kistd.kill()
            provider.kill()
        case "stop kistd":
            if kistd.stop() != 0:
                row.wrong.append(f"kistd did not exit with 0: {kistd.said()[-500:]}")
        case "reload kistd":
            kistd.process.send_signal(signal.SIGHUP)
    if kistd.process is None:
        kistd.spawn()
    if provider.process.poll() is not None:
        provider.spawn()


def end(programs):
    for program in programs:
        program.ends = True
    for program in programs:
        if program.is_alive():
            program.join()


def check_all(kistd, provider, programs, row):
    """Checks every item once more, on the bus and in kistd."""
    with Program(provider.address) as program:
        wait_until(lambda: is_served(program))
        for each in programs:
            for item in each.items:
                each.check(program, item)
    with kistd.connect() as connection:
        reply = connection.ask(op="find", limit=1000)
    saved = len(reply["credentials"]) if reply["ok"] else None
    items = sum(1 for each in programs for item in each.items if item.states[0] is not None)
    if saved != items:
        row.wrong.append(f"kistd has {saved} credentials, not {items}")


def is_served(program):
    try:
        program.open_session()
        program.search({})
        return True
    except Refused:
        return False
