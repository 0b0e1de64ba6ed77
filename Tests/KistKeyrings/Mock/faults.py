"""The faults of a provider, and a record of its calls."""

import os
import time

import dbus
import dbus.lowlevel

METHOD_CALL = 1
HANDLED = dbus.lowlevel.HANDLER_RESULT_HANDLED
NOT_YET_HANDLED = dbus.lowlevel.HANDLER_RESULT_NOT_YET_HANDLED


class Faults:
    """The behaviours of a provider, as words: NAME, or NAME=METHOD for one method only."""

    def __init__(self, words, log):
        self.words = words
        self.log = open(log, "a", buffering=1)
        self.answer = log + ".answer"
        self.method = None
        self.slow = []

    def is_answered(self):
        return os.path.exists(self.answer)

    def has(self, name):
        return name in self.words

    def value(self, name, default):
        found = [word.split("=", 1)[1] for word in self.words if word.startswith(name + "=")]
        return found[0] if found else default

    def concerns(self, name):
        return self.has(name) or self.has(f"{name}={self.method}")

    def filter(self, connection, message):
        """Handles each message before the objects do."""
        if message.get_type() != METHOD_CALL:
            return NOT_YET_HANDLED
        self.method = message.get_member()
        self.log.write(f"{(message.get_interface() or '').split('.')[-1]}.{self.method}\n")
        if self.concerns("dies"):
            os._exit(1)
        if self.concerns("mute") or self.has("mute-after-session") and self.method != "OpenSession":
            return HANDLED
        slow = self.value("slow", "").split(",")
        if self.method == slow[0]:
            self.slow = slow
        if self.method in self.slow:
            time.sleep(3)
        if self.concerns("wrong-types"):
            reply = dbus.lowlevel.MethodReturnMessage(message)
            reply.append("nonsense", signature="s")
            connection.send_message(reply)
            return HANDLED
        return NOT_YET_HANDLED

    def session_key(self, key):
        match self.value("session-key", None):
            case "string":
                return dbus.String("nonsense", variant_level=1)
            case "number":
                return dbus.UInt32(7, variant_level=1)
            case "none":
                return dbus.ByteArray(b"", variant_level=1)
            case "longer":
                return dbus.ByteArray(b"\0" + key, variant_level=1)
        return key

    def after_change(self):
        if self.concerns("dies-after"):
            os._exit(1)
