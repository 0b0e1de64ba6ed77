"""Clients in good faith beside those in bad faith: whether they are served, and how fast."""

import json
import socket
import statistics
import struct
import time

REQUEST = json.dumps({"op": "load", "service": "small", "account": "0"}).encode() + b"\n"
SLICE = 0.1
ATTEMPTS = 3


class Others:
    """One that connects for each request, one that keeps its connection, and one that holds one and asks for nothing."""

    def __init__(self, path):
        self.path = str(path)
        self.asked = self.retried = self.refused = 0
        self.kept, self.idle = self.connect(), self.connect()
        self.reply = self.exchange(self.idle)
        if not json.loads(self.reply)["ok"]:
            raise RuntimeError("the credential is not there")

    def connect(self):
        stream = socket.socket(socket.AF_UNIX)
        # With a timeout of Python's own, a full backlog would be an error at once.
        for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            stream.setsockopt(socket.SOL_SOCKET, option, struct.pack("@ll", 60, 0))
        stream.connect(self.path)
        return stream

    def exchange(self, stream):
        stream.sendall(REQUEST)
        reply = b""
        while not reply.endswith(b"\n"):
            piece = stream.recv(1 << 16)
            if not piece:
                raise ConnectionResetError
            reply += piece
        return reply

    def ask(self, stream):
        """Asks over a connection, or over a new one where that has ended; gives the connection."""
        self.asked += 1
        for _ in range(ATTEMPTS):
            try:
                stream = stream or self.connect()
                reply = self.exchange(stream)
                if reply == self.reply:
                    return stream
            except (BrokenPipeError, ConnectionResetError):
                reply = b""
            stream.close()
            stream, self.retried = None, self.retried + 1
        self.refused += 1
        return None

    def latencies(self, seconds):
        """The median times of both ways to ask, in slices of a tenth of a second each."""
        new, kept = [], []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            new.append(self.median(self.ask_anew))
            kept.append(self.median(self.ask_again))
        return new, kept

    def ask_anew(self):
        if stream := self.ask(None):
            stream.close()

    def ask_again(self):
        self.kept = self.ask(self.kept)

    def median(self, ask):
        times, end = [], time.monotonic() + SLICE
        while not times or time.monotonic() < end:
            began = time.perf_counter()
            ask()
            times.append(time.perf_counter() - began)
        return statistics.median(times)

    def has_kept_the_idle_one(self):
        """Whether the connection that nobody used has not been closed; asks over it, or a new one."""
        before, idle = self.retried, self.idle
        self.idle = self.ask(idle)
        self.retried = before
        return self.idle is idle

    def close(self):
        for stream in (self.kept, self.idle):
            if stream:
                stream.close()
