"""Well-behaved clients during an attack: whether they are served, and how fast."""

import json
import socket
import statistics
import struct
import time

REQUEST = json.dumps({"op": "load", "service": "small", "account": "0"}).encode() + b"\n"
SLICE = 0.1
ATTEMPTS = 3


class Others:
    """A client that connects for each request, one that keeps its connection, and one that stays idle."""

    def __init__(self, path):
        self.path = str(path)
        self.asked = self.retried = self.refused = 0
        self.kept, self.idle = self.connect(), self.connect()
        self.reply = self.exchange(self.idle)
        if not json.loads(self.reply)["ok"]:
            raise RuntimeError("the credential is missing")

    def connect(self):
        stream = socket.socket(socket.AF_UNIX)
        # With a timeout of Python, a full backlog would be an immediate error.
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
        """Sends a request over a connection, or over a new one if it has ended; returns the connection."""
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
        """Returns the median latencies over new and over the kept connection, in slices of a tenth of a second."""
        new, kept = [], []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            new.append(self.median(self.ask_over_new))
            kept.append(self.median(self.ask_over_kept))
        return new, kept

    def ask_over_new(self):
        if stream := self.ask(None):
            stream.close()

    def ask_over_kept(self):
        self.kept = self.ask(self.kept)

    def median(self, ask):
        times, end = [], time.monotonic() + SLICE
        while not times or time.monotonic() < end:
            began = time.perf_counter()
            ask()
            times.append(time.perf_counter() - began)
        return statistics.median(times)

    def has_kept_the_idle_one(self):
        """Returns whether the idle connection is still open, and sends a request over it or over a new one."""
        before, idle = self.retried, self.idle
        self.idle = self.ask(idle)
        self.retried = before
        return self.idle is idle

    def close(self):
        for stream in (self.kept, self.idle):
            if stream:
                stream.close()
