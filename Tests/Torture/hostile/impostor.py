"""Programs that answer `kist` in kistd's place."""

import itertools
import json
import socket
import threading

MOMENT = "2026-11-20T10:00:00Z"
# How often a large page repeats each text.
TIMES = 20_000


class Impostor:
    """Answers each request with a text in every possible field."""

    def __init__(self, path, text):
        self.text, self.fails = text, False
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        try:
            while True:
                threading.Thread(target=self.serve, args=[self.listener.accept()[0]], daemon=True).start()
        except OSError:
            pass  # It was closed.

    def serve(self, client):
        try:
            with client, client.makefile("rb") as lines:
                for line in lines:
                    self.reply(client, json.loads(line))
        except (BrokenPipeError, ConnectionResetError):
            pass  # kist has ended.

    def reply(self, client, request):
        reply = {"id": request["id"]} if "id" in request else {}
        answer = None if self.fails else self.answer(request["op"])
        reply |= {"ok": True} | answer if answer is not None else {"ok": False, "error": self.names("code", "message", "hint")}
        client.sendall(json.dumps(reply).encode() + b"\n")
        if request["op"] == "watch" and answer is not None:
            event = {"event": "saved"} | self.names("service", "account", "revision")
            client.sendall(json.dumps(event).encode() + b"\n")
            client.shutdown(socket.SHUT_RDWR)

    def names(self, *names):
        return {name: name[0] + self.text for name in names}

    def answer(self, operation):
        credential = self.names("service", "account", "label", "revision") | {
            "attributes": {"k": self.text}, "createdAt": MOMENT, "modifiedAt": MOMENT, "expiresAt": MOMENT}
        status = self.names("storage", "reason", "keyProtection", "durability", "integrity") | {
            "locked": False, "reopensAtRestart": True, "unlocksWith": self.text, "count": 1, "uptime": 1,
            "limits": dict.fromkeys(("line", "secret", "service", "account", "label", "attributes", "attributeName",
                                     "attributeValue", "attributesTotal", "page", "passphrase"), 1)}
        record = self.names("operation", "unit", "claims", "service", "account") | {
            "time": "2026-11-20T10:00:00.007Z", "outcome": "ok", "microseconds": 1, "pid": 1, "uid": 1, "evidence": "pidfd"}
        hello = {"protocol": 1, "version": self.text, "operations": [self.text], "features": [self.text],
                 "limits": status["limits"], "durability": self.text}
        return {"hello": hello, "delete": {"deleted": True}, "find": {"credentials": [credential]},
                "audit": {"records": [record]}, "watch": {}, "slots": {"slots": [{"number": 1, "kind": self.text}]},
                "status": {"status": status}, "lock": {"status": status}, "unlock": {"status": status}}.get(operation)


class Repeating(Impostor):
    """A page that leads back to itself."""

    def answer(self, operation):
        answer = super().answer(operation)
        return answer | {"next": "same"} if operation in ("find", "audit") else answer


class Renewing(Impostor):
    """Pages, each of which leads to another one."""

    def __init__(self, path, text):
        super().__init__(path, text)
        self.numbers = itertools.count()

    def page(self, operation):
        return super().answer(operation)

    def answer(self, operation):
        if operation in ("find", "audit"):
            return self.page(operation) | {"next": str(next(self.numbers))}
        return super().answer(operation)


class Empty(Renewing):
    """Empty pages without end."""

    def page(self, operation):
        return {"find": {"credentials": []}, "audit": {"records": []}}[operation]


class Large(Renewing):
    """Large pages without end."""

    def page(self, operation):
        short, self.text = self.text, self.text * TIMES
        try:
            return super().page(operation)
        finally:
            self.text = short


class Stalled(Impostor):
    """A backup that makes no progress."""

    def answer(self, operation):
        if operation == "backup":
            return {"backup": "b", "count": 2, "copied": 1}
        return super().answer(operation)


class Loading(Impostor):
    """A secret for each load, and a count of the loads."""

    loads = 0

    def answer(self, operation):
        if operation != "load":
            return super().answer(operation)
        self.loads += 1
        names = self.names("service", "account", "revision")
        return {"credential": names | {"secret": self.text, "attributes": {}, "createdAt": MOMENT, "modifiedAt": MOMENT}}
