"""Malicious clients: `attackers.py NAME SOCKET` runs an attack until its standard input ends.

It prints "ready" when the attack is at full strength. At the end it prints an object: how many connections it made, how many
of them received `busy`, and how many were closed without a reply.
"""

import json
import os
import select
import socket
import sys
import threading
import time
from itertools import count

# Each connection costs kistd about 0.15 ms, so a higher rate would occupy a processor.
PER_SECOND = 1000
LINE = b'{"op":"hello","id":"' + b"x" * 100 + b'"}'
HUGE = LINE + b" " * ((1 << 20) - len(LINE)) + b"\n"
LARGE = json.dumps({"op": "load", "service": "large", "account": "0"}).encode() + b"\n"
WATCH = json.dumps({"op": "watch"}).encode() + b"\n"
SAVE = json.dumps({"op": "save", "service": "changed", "secret": "x"}).encode() + b"\n"
PAGE = json.dumps({"op": "find", "limit": 1000}).encode() + b"\n"


class Attack:
    def __init__(self, path):
        self.path = path
        self.made = self.busy = self.wordless = 0
        self.is_ready = False
        self.next = time.monotonic()
        self.over = threading.Event()
        threading.Thread(target=self.wait_for_end, daemon=True).start()

    def wait_for_end(self):
        sys.stdin.read()
        self.over.set()

    def ready(self):
        if not self.is_ready:
            self.is_ready = True
            print("ready", flush=True)

    def connect(self):
        """Returns a non-blocking connection, at most PER_SECOND; `None` if kistd cannot accept one yet."""
        self.next = max(self.next + 1 / PER_SECOND, time.monotonic() - 0.01)
        time.sleep(max(0, self.next - time.monotonic()))
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            stream.connect(self.path)
        except BlockingIOError:
            stream.close()
            return None
        self.made += 1
        return stream

    def has_ended(self, stream):
        """Returns whether kistd has closed a connection, and counts its last reply."""
        try:
            received = stream.recv(1 << 16)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            received = b""
        if b'"busy"' in received:
            self.busy += 1
        elif received:
            return False
        else:
            self.wordless += 1
        stream.close()
        return True

    def hold(self, number, use=lambda stream: None, again=None):
        """Keeps up to `number` connections open; uses each once, and again every minute."""
        streams, poll, minute = {}, select.poll(), time.monotonic() + 60
        while not self.over.is_set():
            for _ in range(20):
                if len(streams) < number and (stream := self.connect()):
                    streams[stream.fileno()] = stream
                    poll.register(stream, select.POLLIN)
                    self.use(stream, use)
            for descriptor, _ in poll.poll(1):
                if self.has_ended(streams[descriptor]):
                    poll.unregister(descriptor)
                    del streams[descriptor]
            if self.made >= number:
                self.ready()
            if again and time.monotonic() > minute:
                minute += 60
                for stream in streams.values():
                    self.use(stream, again)
        for stream in streams.values():
            self.has_ended(stream)

    @staticmethod
    def use(stream, use):
        try:
            use(stream)
        except (BlockingIOError, BrokenPipeError, ConnectionResetError):
            pass  # Full or closed, which is handled elsewhere.

    # The attacks.

    def silent(self):
        """10,000 connections that send nothing."""
        self.hold(10_000)

    def few_silent(self):
        """1,000 connections that send nothing."""
        self.hold(1_000)

    def slow(self):
        """1,000 connections that send a byte a minute of a request."""
        self.hold(1_000, *2 * [lambda stream: stream.send(b"{")])

    def asked(self):
        """1,000 connections that send one request, and then a byte a minute."""
        self.hold(1_000, lambda stream: stream.send(LINE + b"\n{"), lambda stream: stream.send(b" "))

    def deaf(self):
        """400 connections that keep requesting large secrets and pages, and read nothing."""
        self.hold_deaf(lambda stream: stream.send(20 * (LARGE + PAGE)))

    def huge(self):
        """400 connections that read nothing, and send lines of 1 MiB."""
        rest = {}

        def use(stream):
            if stream not in rest:
                rest[stream] = memoryview(LARGE + 8 * HUGE)
            while rest[stream]:
                rest[stream] = rest[stream][stream.send(rest[stream]):]
        self.hold_deaf(use)

    def watching(self):
        """400 connections that watch and read nothing, and one that saves 200 times a second."""
        watching = set()

        def use(stream):
            if stream not in watching:
                watching.add(stream)
                stream.send(WATCH)
        threading.Thread(target=self.save, daemon=True).start()
        self.hold_deaf(use)

    def save(self):
        while not self.over.is_set():
            try:
                with socket.socket(socket.AF_UNIX) as stream:
                    stream.connect(self.path)
                    while not self.over.wait(0.005):
                        stream.sendall(SAVE)
                        if not stream.recv(4096):
                            break
            except OSError:
                pass  # It was evicted.

    def hold_deaf(self, use, number=400):
        """Keeps connections open that read nothing; once all are open, replaces at most 100 a second, as each costs a large reply."""
        streams, poll = {}, select.poll()
        while not self.over.is_set():
            for _ in range(2 if self.is_ready else 10):
                if len(streams) < number and (stream := self.connect()):
                    streams[stream.fileno()] = stream
                    poll.register(stream, 0)
                    self.use(stream, use)
            time.sleep(0.02 if self.is_ready else 0)
            for descriptor, _ in poll.poll(0):  # kistd closed these.
                self.wordless += 1
                poll.unregister(descriptor)
                streams.pop(descriptor).close()
            for stream in streams.values():
                self.use(stream, use)
            if self.made >= number:
                self.ready()

    def drip(self):
        """32 connections that send lines of 1 MiB byte by byte."""
        streams = []
        line = memoryview(HUGE)
        for turn in count():
            if self.over.is_set():
                return
            while len(streams) < 32:
                if stream := self.connect():
                    streams.append(stream)
            place = turn % len(HUGE)
            time.sleep(1 / PER_SECOND)
            for stream in list(streams):
                try:
                    stream.send(line[place:place + 1])
                except BlockingIOError:
                    pass
                except OSError:
                    self.wordless += 1
                    streams.remove(stream)
            if turn == 100:
                self.ready()

    def come_and_go(self):
        """Clients that connect and disconnect in a loop."""
        while not self.over.is_set():
            if stream := self.connect():
                stream.close()
            if self.made == 1000:
                self.ready()

    def ask_and_go(self):
        """Clients that connect, send a request and disconnect before the reply, in a loop."""
        while not self.over.is_set():
            if stream := self.connect():
                self.use(stream, lambda stream: stream.send(LINE + b"\n"))
                stream.close()
            if self.made == 1000:
                self.ready()


def main():
    os.nice(19)
    name, path = sys.argv[1:]
    attack = Attack(path)
    getattr(attack, name)()
    print(json.dumps({"made": attack.made, "busy": attack.busy, "wordless": attack.wordless}), flush=True)


if __name__ == "__main__":
    main()
