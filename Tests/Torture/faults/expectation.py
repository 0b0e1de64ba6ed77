"""The required content of a store after some requests, and the check of a kistd against it."""

import time

from frame.kistd import Ended

SERVICE = "torture"
MISSING = None


class Broken(Exception):
    """A broken promise: its kind, which is a field of a row, and a sentence."""

    def __init__(self, kind, what):
        super().__init__(what)
        self.kind = kind


class Expectation:
    """The allowed secrets of each account; MISSING for no credential."""

    def __init__(self, there):
        self.allowed = {account: {secret} for account, secret in there.items()}

    def asked(self, request, reply):
        """Records a change with its reply, or without one."""
        account = request["account"]
        before = self.allowed.get(account, {MISSING})
        after = {request["secret"] if request["op"] == "save" else MISSING}
        if reply is None or not reply["ok"] and reply["error"].get("outcome") != "unchanged":
            after |= before
        elif not reply["ok"]:
            after = before
        self.allowed[account] = after

    def check(self, connection, codes=()):
        """Loads everything, and expects the same content from then on.

        A load may also receive one of the error codes."""
        for account, allowed in self.allowed.items():
            reply = connection.ask(op="load", service=SERVICE, account=account)
            if reply["ok"]:
                found = reply["credential"].get("secret")
            elif reply["error"]["code"] == "notFound":
                found = MISSING
            elif reply["error"]["code"] in codes:
                continue
            else:
                kind = "lost" if reply["error"]["code"] == "corrupt" else "wrong"
                raise Broken(kind, f"a load of {account} received {reply['error']}")
            if found not in allowed:
                raise Broken("lost", f"{account} is {brief(found)}, not {' or '.join(map(brief, allowed))}")
            self.allowed[account] = {found}

    def check_whole(self, connection):
        """Also checks that there is nothing else, and that the store is intact."""
        self.check(connection)
        page = connection.ask(op="find", service=SERVICE)
        if not page["ok"]:
            raise Broken("lost", f"a find received {page['error']}")
        found = {each["account"] for each in page["credentials"]}
        expected = {account for account, allowed in self.allowed.items() if allowed != {MISSING}}
        if found != expected:
            raise Broken("lost", f"there are {sorted(found)}, not {sorted(expected)}")
        while (status := connection.ask(op="status")["status"]).get("integrity") == "checking":
            time.sleep(0.001)
        if status.get("integrity") != "ok" or status["locked"] or status["count"] != len(expected):
            raise Broken("lost", f"the status is {status}")

    def save(self, connection, account, secret):
        """Saves a secret, which must succeed, at the latest after kistd has opened the store again."""
        request = {"op": "save", "service": SERVICE, "account": account, "secret": secret}
        reply = connection.ask(**request)
        if not reply["ok"] and reply["error"]["code"] == "unavailable" and reply["error"].get("outcome") == "unchanged":
            reply = connection.ask(**request)
        if not reply["ok"]:
            raise Broken("wrong", f"a save afterwards received {reply['error']}")
        self.asked(request, reply)


def check_after(kistd, expectation, prepare=lambda connection: None):
    """Starts a kistd without faults on the store, and checks the store against the expectation."""
    try:
        with kistd.start() as connection:
            prepare(connection)
            expectation.check_whole(connection)
            expectation.save(connection, "afterwards", "another")
            expectation.check_whole(connection)
        status = kistd.stop()
    except Ended:
        kistd.kill()
        raise Broken("lost", f"it does not open: {kistd.said()[-300:]}") from None
    if status != 0:
        raise Broken("wrong", f"it ended with {status} afterwards: {kistd.said()[-300:]}")


def brief(secret):
    if secret is MISSING:
        return "missing"
    return secret if len(secret) < 30 else f"{secret[:20]}… ({len(secret)} characters)"
