"""A small Secret Service with the faults in its arguments; MockProvider.swift lists them.

Usage: provider.py STATE LOG [BEHAVIOUR...]

Items outlive the process in the file STATE. The file LOG gets one line for each call: the last
word of the interface, a dot, and the method.
"""

import json
import os
import sys
import time

import dbus
import dbus.bus
import dbus.mainloop.glib
from gi.repository import GLib

from faults import Faults
from objects import ROOT, SECRET, NOTHING, Collection, Item, Object, Prompt, Session
from objects import exported, failure
from sessions import negotiate

LOGIN = ROOT + "/collection/login"


class Provider(Object):
    def __init__(self, bus, state, faults):
        super().__init__(bus, ROOT)
        self.bus, self.state, self.faults = bus, state, faults
        self.locked = faults.has("locked")
        self.has_default = not faults.has("no-default-collection")
        self.items, self.sessions, self.number = {}, {}, 0
        self.collection = Collection(self, LOGIN) if self.has_default else None
        self.restore()

    def properties(self):
        paths = [LOGIN] if self.has_default else []
        return {"Collections": dbus.Array(paths, signature="o")}

    @exported("Service", "sv", "vo")
    def OpenSession(self, algorithm, public_key):
        session = negotiate(algorithm, public_key, self.faults.has("plain-only"))
        path = self.next_path("session")
        self.sessions[path] = session
        Session(self.bus, path)
        return self.faults.session_key(session.answer), dbus.ObjectPath(path)

    @exported("Service", "a{sv}s", "oo")
    def CreateCollection(self, properties, alias):
        return NOTHING, self.prompt(lambda: dbus.ObjectPath(LOGIN), NOTHING)

    @exported("Service", "a{ss}", "aoao")
    def SearchItems(self, attributes):
        paths = self.search(attributes)
        if self.faults.has("finds-ghosts"):
            paths.append(self.next_path("collection/login"))
        found = dbus.Array(paths, signature="o")
        none = dbus.Array([], signature="o")
        return (none, found) if self.locked else (found, none)

    @exported("Service", "ao", "aoo")
    def Unlock(self, objects):
        if not self.locked:
            return objects, NOTHING
        none = dbus.Array([], signature="o")

        def unlock():
            self.locked = False
            return dbus.Array(objects, signature="o", variant_level=1)

        return none, self.prompt(unlock, none)

    @exported("Service", "ao", "aoo")
    def Lock(self, objects):
        if self.faults.has("lock-asks-prompt"):
            none = dbus.Array([], signature="o")
            return none, self.prompt(lambda: none, none)
        self.locked = True
        return objects, NOTHING

    @exported("Service", "aoo", "a{o(oayays)}")
    def GetSecrets(self, paths, session):
        found = {
            path: self.secret(self.items[path], session)
            for path in paths if path in self.items and not self.locked}
        return dbus.Dictionary(found, signature="o(oayays)")

    @exported("Service", "s", "o")
    def ReadAlias(self, name):
        return dbus.ObjectPath(LOGIN) if name == "default" and self.has_default else NOTHING

    @exported("Service", "so")
    def SetAlias(self, name, collection):
        raise dbus.DBusException("not here", name="org.freedesktop.DBus.Error.NotSupported")

    # Shared by the objects.

    def require_unlocked(self):
        if self.locked:
            raise failure("IsLocked", "the collection is locked")

    def search(self, attributes):
        return [path for path, item in self.items.items() if item.matches(attributes)]

    def secret(self, item, session):
        if session not in self.sessions:
            raise failure("NoSession", "no such session")
        parameters, value = self.sessions[session].encode(item.value)
        return dbus.Struct(
            (session, dbus.ByteArray(parameters), dbus.ByteArray(value), item.content_type),
            signature="oayays")

    def decoded(self, secret):
        session, parameters, value, content_type = secret
        if session not in self.sessions:
            raise failure("NoSession", "no such session")
        return self.sessions[session].decode(bytes(parameters), bytes(value)), str(content_type)

    def create(self, label, attributes, value, content_type, replace):
        in_place = self.faults.has("replaces-in-place")
        for item in self.items.values():
            if replace and item.attributes == attributes or in_place and all(
                    item.attributes.get(name) == attributes.get(name)
                    for name in ("service", "account")):
                item.attributes = attributes
                item.label, item.value, item.content_type = label, value, content_type
                self.changed("ItemChanged", item.path)
                return item.path
        path = self.next_path("collection/login")
        self.items[path] = Item(
            self, path, label, attributes, value, content_type, int(time.time()))
        self.changed("ItemCreated", path)
        return path

    def prompt(self, act, nothing):
        path = self.next_path("prompt")
        Prompt(self, path, act, nothing)
        return dbus.ObjectPath(path)

    def next_path(self, kind):
        self.number += 1
        return f"{ROOT}/{kind}/{self.number}"

    # Kept after the end of the process.

    def changed(self, signal, path):
        items = [
            [path, item.label, item.attributes, item.value.hex(), item.content_type, item.created]
            for path, item in self.items.items()]
        with open(self.state + ".new", "w") as file:
            json.dump({"number": self.number, "items": items}, file)
        os.rename(self.state + ".new", self.state)
        self.faults.after_change()
        getattr(self.collection, signal)(dbus.ObjectPath(path))

    def restore(self):
        if not os.path.exists(self.state):
            return
        with open(self.state) as file:
            saved = json.load(file)
        self.number = saved["number"]
        for path, label, attributes, value, content_type, created in saved["items"]:
            self.items[path] = Item(
                self, path, label, attributes, bytes.fromhex(value), content_type, created)


def main():
    state, log, *words = sys.argv[1:]
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.bus.BusConnection(os.environ["DBUS_SESSION_BUS_ADDRESS"])
    bus.set_exit_on_disconnect(True)
    faults = Faults(words, log)
    bus.add_message_filter(faults.filter)
    provider = Provider(bus, state, faults)
    if faults.has("is-kist"):
        bus.request_name("io.kist.SecretService", dbus.bus.NAME_FLAG_DO_NOT_QUEUE)
    bus.request_name("org.freedesktop.secrets", dbus.bus.NAME_FLAG_DO_NOT_QUEUE)
    print("ready", flush=True)
    GLib.MainLoop().run()


main()
