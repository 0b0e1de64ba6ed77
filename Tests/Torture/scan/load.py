"""Many clients that save, load, replace and delete their own secrets."""

import base64
import json
import threading
import time

from scan.forms import WRITTEN, in_escapes

SHORT, LARGE = range(20, 600), 512 << 10
KEPT = 4


class Client(threading.Thread):
    """One client; `wrong` lists its wrong replies."""

    def __init__(self, number, served, random):
        super().__init__(daemon=True)
        self.service = f"load {number}"
        self.connection, self.secrets = served.kistd.connect(), served.marks.secrets
        self.random = random
        self.asked, self.wrong = 0, []

    def work(self, until):
        """Starts to send requests, until a moment."""
        self.until = until
        self.start()

    def run(self):
        there = {}
        while time.monotonic() < self.until and not self.wrong:
            account = self.random.randrange(KEPT)
            key = f'"service":"{self.service}","account":"{account}"'.encode()
            if account not in there or self.random.random() < 0.3:
                there[account] = self.random.choice(self.secrets)
                # Escaping makes a secret six times as long.
                ways = [each for each in WRITTEN.values() if each is not in_escapes or len(there[account]) < LARGE]
                self.ask("save", key, self.random.choice(ways)(there[account]))
            elif self.random.random() < 0.2:
                self.ask("delete", key)
                del there[account]
            else:
                self.load(key, there[account])

    def load(self, key, secret):
        encoding = self.random.choice(("text", "base64"))
        loaded = self.ask("load", key, f'"encoding":"{encoding}"'.encode()).get("credential", {})
        if secret not in (loaded.get("secret", "").encode(), base64.b64decode(loaded.get("secretBase64", ""))):
            self.wrong.append(f"a load of {key.decode()} did not return the saved secret")

    def ask(self, operation, *members):
        self.asked += 1
        self.connection.stream.sendall(b",".join([f'{{"op":"{operation}"'.encode(), *members]) + b"}\n")
        reply = json.loads(self.connection.replies.readline())
        if not reply["ok"]:
            self.wrong.append(f"a {operation} received {reply['error']}")
        return reply


def load(served, random, number, seconds):
    """Runs clients for some time; returns them still connected, with all replies read."""
    for _ in range(8 * number):
        served.marks.secret(random.choice(SHORT))
    for _ in range(number // 8):
        served.marks.secret(LARGE)
    clients = [Client(each, served, type(random)(random.random())) for each in range(number)]
    until = time.monotonic() + seconds
    for client in clients:
        client.work(until)
    for client in clients:
        client.join()
    return clients
