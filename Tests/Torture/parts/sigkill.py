"""SIGKILL under load: 64 clients count with compare-and-swap, and kistd is killed at random moments."""

import json
import selectors
import socket
import time

from frame.kistd import Kistd
from frame.row import Row

CLIENTS = 64
COUNTERS = 16
# The longest delay in seconds: from the middle of the start to some hundred changes later.
LONGEST = 0.25


class Counter:
    """A credential with a count, and the range of its possible values."""

    def __init__(self, name):
        self.name = name
        self.acknowledged = 0
        self.unanswered = 0
        self.asked = 0
        self.is_settled = True

    def settle(self, value):
        """Takes the value of the first load from a new kistd, which settles the fate of unanswered increments."""
        if not self.is_settled and self.asked == 0:
            self.acknowledged, self.unanswered = value, 0
        self.is_settled = True

    def padding(self, value):
        return f"{self.name}." * (value * 7 % 60)

    def secret(self, value):
        return f"{value} {self.padding(value)}"

    def read(self, secret):
        """Returns the value; throws ValueError if the secret is incomplete."""
        value, _, padding = secret.partition(" ")
        if padding != self.padding(int(value)):
            raise ValueError("not a saved secret")
        return int(value)

    def range(self):
        """Returns the possible values, as an unanswered increment may have been performed."""
        return range(self.acknowledged, self.acknowledged + self.unanswered + self.asked + 1)


class Client:
    """Repeatedly loads a counter and saves the next count, if the revision has not changed."""

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
            pass  # `read` handles this, after the last reply.

    def load(self):
        self.saving, self.least = False, self.counter.acknowledged
        self.send(op="load")

    def save(self, value, revision):
        self.saving = True
        self.counter.asked += 1
        self.send(op="save", secret=self.counter.secret(value), ifRevision=revision)

    def read(self, selector):
        """Handles the received replies; returns False if the connection has ended."""
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
                self.row.wrong.append(f"a save received {error}")
            self.load()
        elif reply["ok"]:
            value = self.check(reply["credential"])
            self.save(value + 1, reply["credential"]["revision"])
        elif error["code"] == "notFound" and self.least == 0:
            counter.settle(0)
            self.save(1, None)
        else:
            kind = self.row.lost if error["code"] in ("notFound", "corrupt") else self.row.wrong
            kind.append(f"counter {counter.name}, at least {self.least}: a load received {error}")
            self.load()

    def check(self, credential):
        counter = self.counter
        try:
            value = counter.read(credential["secret"])
        except (KeyError, ValueError):
            self.row.lost.append(f"counter {counter.name} is incomplete")
            return counter.acknowledged
        if not self.least <= value <= counter.range()[-1]:
            self.row.lost.append(f"counter {counter.name} is {value}, not from {self.least} to {counter.range()[-1]}")
        counter.settle(value)
        return value


def serve_until(moment, clients, path, selector):
    """Lets the clients work until a moment."""
    while (left := moment - time.monotonic()) > 0:
        waiting = [client for client in clients if client.stream is None]
        for client in waiting:
            client.connect(path, selector)
        for key, _ in selector.select(min(left, 0.002 if waiting else left)):
            key.data.read(selector)


def drain(clients, selector):
    """Handles the replies from before the end of kistd."""
    while any(client.stream for client in clients):
        for key, _ in selector.select():
            key.data.read(selector)


def run(context):
    row = Row(what=f"SIGKILL at random moments, {CLIENTS} clients with compare-and-swap")
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
        row.wrong.append("too few increments for a meaningful result")
    if row.findings:
        row.wrong.append(f"the store is kept in {context.keep(kistd.folder, 'store')}")
    row.seconds = time.monotonic() - began
    yield row


def check_all(kistd, counters, row):
    """Starts kistd again and checks every counter."""
    with kistd.start() as connection:
        for counter in counters:
            reply = connection.ask(op="load", service="counter", account=counter.name)
            value = counter.read(reply["credential"]["secret"]) if reply["ok"] else 0
            if value not in counter.range():
                row.lost.append(f"counter {counter.name} is {value} in the end, not in {counter.range()}: {reply}")
        integrity = connection.ask(op="find")
        if not integrity["ok"]:
            row.lost.append(f"the store is damaged: {integrity}")
    if kistd.stop() != 0:
        row.wrong.append(f"the last kistd did not exit with 0: {kistd.said()[-500:]}")
