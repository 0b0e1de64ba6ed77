"""The objects of the Secret Service: items, their collection, and prompts.

https://specifications.freedesktop.org/secret-service-spec/0.2/
"""

import time

import dbus
import dbus.service
from gi.repository import GLib

ROOT = "/org/freedesktop/secrets"
SECRET = "org.freedesktop.Secret."
PROPERTIES = "org.freedesktop.DBus.Properties"
NOTHING = dbus.ObjectPath("/")


def failure(name, text):
    return dbus.DBusException(text, name=SECRET + "Error." + name)


def exported(interface, ins="", outs=""):
    return dbus.service.method(
        SECRET + interface, in_signature=ins, out_signature=outs, byte_arrays=True)


class Object(dbus.service.Object):
    """An object with properties: a dictionary that is created for each request."""

    SUPPORTS_MULTIPLE_OBJECT_PATHS = True

    def properties(self):
        return {}

    @dbus.service.method(PROPERTIES, in_signature="ss", out_signature="v")
    def Get(self, interface, name):
        if name not in self.properties():
            raise dbus.DBusException(
                name, name="org.freedesktop.DBus.Error.UnknownProperty")
        return self.properties()[name]

    @dbus.service.method(PROPERTIES, in_signature="s", out_signature="a{sv}")
    def GetAll(self, interface):
        return self.properties()

    @dbus.service.method(PROPERTIES, in_signature="ssv")
    def Set(self, interface, name, value):
        self.set_property(name, value)


class Item(Object):
    def __init__(self, provider, path, label, attributes, value, content_type, created):
        super().__init__(provider.bus, path)
        self.provider, self.path = provider, path
        self.label, self.attributes = label, attributes
        self.value, self.content_type = value, content_type
        self.created = self.modified = created

    def properties(self):
        return {
            "Locked": dbus.Boolean(self.provider.locked),
            "Attributes": dbus.Dictionary(self.attributes, signature="ss"),
            "Label": self.label, "Type": self.attributes.get("xdg:schema", ""),
            "Created": dbus.UInt64(self.created), "Modified": dbus.UInt64(self.modified)}

    def set_property(self, name, value):
        self.provider.require_unlocked()
        if name == "Label":
            self.label = str(value)
        elif name == "Attributes":
            self.attributes = {str(key): str(each) for key, each in value.items()}
        self.provider.changed("ItemChanged", self.path)

    def matches(self, attributes):
        return all(self.attributes.get(key) == value for key, value in attributes.items())

    @exported("Item", "o", "(oayays)")
    def GetSecret(self, session):
        self.provider.require_unlocked()
        return self.provider.secret(self, session)

    @exported("Item", "(oayays)")
    def SetSecret(self, secret):
        self.provider.require_unlocked()
        self.value, self.content_type = self.provider.decoded(secret)
        self.provider.changed("ItemChanged", self.path)

    @exported("Item", "", "o")
    def Delete(self):
        self.provider.require_unlocked()
        if self.provider.faults.has("deleted-by-another"):
            self.remove()
            raise failure("NoSuchObject", "there is no such item")
        if self.provider.faults.has("delete-asks-prompt"):
            return self.provider.prompt(self.remove, dbus.String(""))
        self.remove()
        return NOTHING

    def remove(self):
        del self.provider.items[self.path]
        self.remove_from_connection()
        self.provider.changed("ItemDeleted", self.path)
        return dbus.String("")


class Collection(Object):
    def __init__(self, provider, path):
        super().__init__(provider.bus, path)
        self.add_to_connection(provider.bus, ROOT + "/aliases/default")
        self.provider, self.created = provider, int(time.time())

    def properties(self):
        return {
            "Items": dbus.Array(list(self.provider.items), signature="o"), "Label": "Login",
            "Locked": dbus.Boolean(self.provider.locked),
            "Created": dbus.UInt64(self.created), "Modified": dbus.UInt64(self.created)}

    @exported("Collection", "a{sv}(oayays)b", "oo")
    def CreateItem(self, properties, secret, replace):
        provider, faults = self.provider, self.provider.faults
        value, content_type = provider.decoded(secret)
        if faults.has("alters-values"):
            value = value.strip(b" \t")
        if faults.has("appends-to-values"):
            value += b"x"
        attributes = {
            str(key): str(each)
            for key, each in properties.get(SECRET + "Item.Attributes", {}).items()}
        label = str(properties.get(SECRET + "Item.Label", ""))

        def create():
            path = provider.create(label, attributes, value, content_type, replace)
            return dbus.ObjectPath(path)

        if faults.has("create-asks-prompt") or provider.locked and faults.value("prompt", None):
            return NOTHING, provider.prompt(create, NOTHING)
        provider.require_unlocked()
        if faults.has("claims-to-store"):
            return dbus.ObjectPath(ROOT + "/collection/login/0"), NOTHING
        return create(), NOTHING

    @exported("Collection", "a{ss}", "ao")
    def SearchItems(self, attributes):
        return dbus.Array(self.provider.search(attributes), signature="o")

    @dbus.service.signal(SECRET + "Collection", signature="o")
    def ItemCreated(self, item):
        pass

    @dbus.service.signal(SECRET + "Collection", signature="o")
    def ItemDeleted(self, item):
        pass

    @dbus.service.signal(SECRET + "Collection", signature="o")
    def ItemChanged(self, item):
        pass


class Prompt(Object):
    """A prompt without a window. Its end is one of the behaviours of the provider."""

    def __init__(self, provider, path, act, nothing):
        super().__init__(provider.bus, path)
        self.provider, self.act, self.nothing = provider, act, nothing

    @exported("Prompt", "s")
    def Prompt(self, window):
        GLib.timeout_add(10, self.end)

    def end(self):
        outcome = self.provider.faults.value("prompt", "dismissed")
        if outcome == "answered":
            if not self.provider.faults.is_answered():
                return True
            self.Completed(False, self.act())
        elif outcome == "accepted":
            self.Completed(False, self.act())
        elif outcome == "dismissed":
            self.Completed(True, self.nothing)
        elif outcome == "dismissed-wrong-type":
            self.Completed(True, dbus.UInt32(7))
        return False

    @exported("Prompt")
    def Dismiss(self):
        self.Completed(True, self.nothing)

    @dbus.service.signal(SECRET + "Prompt", signature="bv")
    def Completed(self, dismissed, result):
        pass


class Session(Object):
    @exported("Session")
    def Close(self):
        self.remove_from_connection()
