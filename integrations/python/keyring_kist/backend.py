"""The backend: what keyring asks, in kistd's words."""

import urllib.parse
from contextlib import contextmanager

from keyring.backend import KeyringBackend
from keyring.compat import properties
from keyring.credentials import SimpleCredential
from keyring.errors import (
    InitError, KeyringError, KeyringLocked, PasswordDeleteError, PasswordSetError)

from . import client

TOOL = "keyring"


class KistKeyring(KeyringBackend):
    """Passwords that kistd keeps."""

    @properties.classproperty
    def priority(cls):
        # Asked for at the start of every program, so that it connects and asks nothing.
        try:
            client.connect(patience=1).close()
        except client.KistError as error:
            raise RuntimeError(str(error)) from None
        return 6

    def get_password(self, service, username):
        found = self.get_credential(service, username)
        return found and found.password

    def get_credential(self, service, username):
        if username is None:
            username = newest_username(service)
        found = None if username is None else load(service, username)
        return found and SimpleCredential(*found)

    def set_password(self, service, username, password):
        with translated(PasswordSetError):
            require(username)
            client.ask(
                "save", service=encoded(service), account=encoded(username), secret=password,
                **kept(service, username))

    def delete_password(self, service, username):
        with translated(PasswordDeleteError):
            require(username)
            for spelling in spellings(service):
                for found in filter(is_meant, stored(spelling, username)):
                    client.ask(
                        "delete", service=found["service"], account=found["account"],
                        ifRevision=found["revision"])
                    return
        raise PasswordDeleteError("there is no such password")


def require(username):
    """Refuses to change what may be any user's."""
    if username is None:
        raise client.KistError("badRequest", "no username is named; nothing was changed")


def kept(service, username):
    """What a save must not change, and on which condition; what a person saved stays theirs."""
    for old in stored(service, username):
        if not is_meant(old):
            raise PasswordSetError("another tool keeps a credential under this name; nothing was changed")
        label = {"label": old["label"]} if "label" in old else {}
        return {"attributes": old["attributes"], "ifRevision": old["revision"], **label}
    return {"attributes": {"tool": TOOL}, "ifRevision": None}


def load(service, username):
    """The username and the password; `None` where there is none."""
    for spelling in spellings(service):
        with translated(KeyringError):
            try:
                reply = client.ask("load", service=encoded(spelling), account=encoded(username))
            except client.KistError as error:
                if error.code == "notFound":
                    continue
                raise
        if is_meant(reply["credential"]):
            try:
                return username, client.secret(reply["credential"]).decode()
            except UnicodeDecodeError:
                raise KeyringError("the secret is not text") from None
    return None


def newest_username(service):
    """The username of the latest save that has not expired, else of the latest."""
    with translated(KeyringError):
        for spelling in spellings(service):
            if found := [each for each in stored(spelling) if is_meant(each)]:
                return decoded(newest_usable(found)["account"])
    return None


def newest_usable(found):
    found = sorted(found, key=lambda each: each["modifiedAt"], reverse=True)
    for each in found:
        try:
            client.ask("load", service=each["service"], account=each["account"])
            return each
        except client.KistError as error:
            if error.code not in ("expired", "notFound"):
                raise
    return found[0]


def stored(service, username=None):
    """What is there of a service, without secrets."""
    query = {"service": encoded(service)}
    if username is not None:
        query["account"] = encoded(username)
    found = []
    cursors = set()
    while True:
        page = client.ask("find", **query)
        found += page["credentials"]
        if "next" not in page:
            return found
        # Such a list would never end.
        if page["next"] in cursors:
            raise client.KistError("internal", "kistd repeats a part of its list")
        cursors.add(page["next"])
        query["after"] = page["next"]


def is_meant(credential):
    """Whether it was saved here or by hand, and not by another tool."""
    return credential["attributes"].get("tool", TOOL) == TOOL


def spellings(service):
    """Of one index, some programs ask with a slash at its end, and some without."""
    if "://" not in service:
        return [service]
    return [service, service[:-1] if service.endswith("/") else service + "/"]


def encoded(name):
    """A name as kist takes it: without control characters."""
    if name.startswith("%:") or any(ord(each) < 0x20 or 0x7F <= ord(each) < 0xA0 for each in name):
        return "%:" + urllib.parse.quote(name, safe="")
    return name


def decoded(name):
    return urllib.parse.unquote(name[2:]) if name.startswith("%:") else name


@contextmanager
def translated(otherwise):
    """Raises keyring's errors in the place of kistd's."""
    try:
        yield
    except client.KistError as error:
        kind = {"locked": KeyringLocked, "unavailable": InitError, "timeout": InitError}.get(
            error.code, otherwise)
        raise kind(str(error)) from None
