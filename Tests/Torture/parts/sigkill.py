"""SIGKILL under load: 64 clients count by compare-and-swap, and kistd is killed at random moments."""

import json
import selectors
import socket
import time

from frame.kistd import Kistd
from frame.row import Row

CLIENTS = 64
COUNTERS = 16
# From in the middle of the start to some hundred changes later.
LONGEST = 0.25


class Counter:
    """A credential that is counted up, and what is known of it."""

    def __init__(self, name):
        self.name = name
        self.acknowledged = 0
        self.unanswered = 0
        self.asked = 0
        self.is_settled = True

    def settle(self, value):
        """Takes what the first load of a new kistd found, before which nothing was asked of it: that
        decides what became of the unanswered ones."""
        if not self.is_settled and self.asked == 0:
            self.acknowledged, self.unanswered = value, 0
        self.is_settled = True

    def padding(self, value):
        return f"{self.name}." * (value * 7 % 60)

    def secret(self, value):
        return f"{value} {self.padding(value)}"

    def read(self, secret):
        """The value, which is there whole."""
        value, _, padding = secret.partition(" ")
        if padding != self.padding(int(value)):
            raise ValueError("not what was saved")
        return int(value)

    def range(self):
        """What it may be: an increment that nobody has answered yet may have been made."""
        return range(self.acknowledged, self.acknowledged + self.unanswered + self.asked + 1)


class Client:
    """Loads a counter, saves it one higher if it is still the same, and so on."""

    def __init__(self, counter, row):
        self.counter, self.row = counter, row
        self.increments = 0
        self.stream, self.rest, self.least, self.saving = None, b"", 0, False

    def connect(self, path, selector):
        self.stream = socket.socket(socket.AF_UNIX)
        try:
            self.stream.connect(path)
        except (FileNotFoundError, ConnectionRefusedError, BlockingIOError):
            self.stream.close()
            self.stream = None
            return
        self.stream.setblocking(False)
        self.rest = b""
        selector.register(self.stream, selectors.EVENT_READ, self)
        self.load()

    def send(self, **request):
        try:
            self.stream.send(json.dumps(request | {"service": "counter", "account": self.counter.name}).encode() + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            pass  # The reading end says so, after the last reply.

    def load(self):
        self.saving, self.least = False, self.counter.acknowledged
        self.send(op="load")

    def save(self, value, revision):
        self.saving = True
        self.counter.asked += 1
        self.send(op="save", secret=self.counter.secret(value), ifRevision=revision)

    def read(self, selector):
        """Takes what has come; False when the connection has ended."""
        try:
            received = self.stream.recv(1 << 16)
        except ConnectionResetError:
            received = b""
        if not received:
            selector.unregister(self.stream)
            self.stream.close()
            self.stream = None
            if self.saving:
                self.counter.asked -= 1
                self.counter.unanswered += 1
                self.saving = False
            return False
        *lines, self.rest = (self.rest + received).split(b"\n")
        for line in lines:
            self.take(json.loads(line))
        return True

    def take(self, reply):
        counter, error = self.counter, reply.get("error", {})
        if self.saving:
            counter.asked -= 1
            if reply["ok"]:
                counter.acknowledged += 1
                self.increments += 1
            elif error["code"] != "conflict":
                self.row.wrong.append(f"a save was answered {error}")
            self.load()
        elif reply["ok"]:
            value = self.check(reply["credential"])
            self.save(value + 1, reply["credential"]["revision"])
        elif error["code"] == "notFound" and self.least == 0:
            counter.settle(0)
            self.save(1, None)
        else:
            kind = self.row.lost if error["code"] in ("notFound", "corrupt") else self.row.wrong
            kind.append(f"counter {counter.name}, at least {self.least}: a load was answered {error}")
            self.load()

    def check(self, credential):
        counter = self.counter
        try:
            value = counter.read(credential["secret"])
        except (KeyError, ValueError):
            self.row.lost.append(f"counter {counter.name} is not whole")
            return counter.acknowledged
        if not self.least <= value <= counter.range()[-1]:
            self.row.lost.append(f"counter {counter.name} is {value}, not from {self.least} to {counter.range()[-1]}")
        counter.settle(value)
        return value


def serve_until(moment, clients, path, selector):
    """Lets the clients work until then."""
    while (left := moment - time.monotonic()) > 0:
        waiting = [client for client in clients if client.stream is None]
        for client in waiting:
            client.connect(path, selector)
        for key, _ in selector.select(min(left, 0.002 if waiting else left)):
            key.data.read(selector)


def drain(clients, selector):
    """Takes what was answered before the end."""
    while any(client.stream for client in clients):
        for key, _ in selector.select():
            key.data.read(selector)


def run(context):
    row = Row(what=f"SIGKILL at random moments, {CLIENTS} clients that compare and swap")
    began = time.monotonic()
    random = context.random("sigkill")
    kistd = Kistd(context.kistd, context.folder / "home")
    counters = [Counter(str(number)) for number in range(COUNTERS)]
    clients = [Client(counters[number % COUNTERS], row) for number in range(CLIENTS)]
    selector = selectors.DefaultSelector()
    while time.monotonic() - began < context.seconds and not row.findings:
        for counter in counters:
            counter.is_settled = False
        kistd.spawn()
        serve_until(time.monotonic() + random.uniform(0, LONGEST), clients, str(kistd.socket), selector)
        if kistd.process.poll() is not None:
            row.wrong.append(f"kistd ended by itself: {kistd.said()[-500:]}")
        kistd.kill()
        drain(clients, selector)
        row.tries += 1
    check_all(kistd, counters, row)
    increments = sum(client.increments for client in clients)
    row.note = f"{increments:,} increments acknowledged"
    if increments < row.tries:
        row.wrong.append("too few increments to show anything")
    if row.findings:
        row.wrong.append(f"the store is kept in {context.keep(kistd.folder, 'store')}")
    row.seconds = time.monotonic() - began
    yield row


def check_all(kistd, counters, row):
    """Starts kistd once more and looks at every counter."""
    with kistd.start() as connection:
        for counter in counters:
            reply = connection.ask(op="load", service="counter", account=counter.name)
            value = counter.read(reply["credential"]["secret"]) if reply["ok"] else 0
            if value not in counter.range():
                row.lost.append(f"counter {counter.name} is {value} in the end, not in {counter.range()}: {reply}")
        integrity = connection.ask(op="find")
        if not integrity["ok"]:
            row.lost.append(f"the store is not whole: {integrity}")
    if kistd.stop() != 0:
        row.wrong.append(f"the last kistd did not end in order: {kistd.said()[-500:]}")
