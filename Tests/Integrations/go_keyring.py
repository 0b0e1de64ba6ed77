"""Makes the calls that go-keyring 0.2 makes on the Secret Service, for gh and other programs in Go.

go_keyring.py set|get|delete SERVICE USER; the secret is on standard input or output.
"""

import sys

from jeepney import DBusAddress, MatchRule, Properties, new_method_call
from jeepney.io.blocking import open_dbus_connection

ROOT = "/org/freedesktop/secrets"
LOGIN = ROOT + "/collection/login"


class Service:
    def __init__(self):
        self.bus = open_dbus_connection()

    def address(self, path, interface):
        return DBusAddress(path, "org.freedesktop.secrets", "org.freedesktop.Secret." + interface)

    def call(self, path, interface, method, signature=None, *values):
        message = new_method_call(self.address(path, interface), method, signature, values)
        reply = self.bus.send_and_get_reply(message, timeout=25)
        if reply.header.message_type.name == "error":
            sys.exit(f"{reply.header.fields}: {reply.body}")
        return reply.body

    def handle_prompt(self, prompt, result):
        """Returns the result; go-keyring takes the first signal of the prompt as its end."""
        if prompt == "/":
            return result
        rule = MatchRule(type="signal", interface="org.freedesktop.Secret.Prompt", path=prompt)
        bus = DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus")
        self.bus.send_and_get_reply(new_method_call(bus, "AddMatch", "s", (rule.serialise(),)), timeout=25)
        with self.bus.filter(rule) as signals:
            self.call(prompt, "Prompt", "Prompt", "s", "")
            dismissed, (_, value) = self.bus.recv_until_filtered(signals, timeout=25).body
        return [] if dismissed else value

    def unlock(self, path):
        unlocked, prompt = self.call(ROOT, "Service", "Unlock", "ao", [path])
        if self.handle_prompt(prompt, unlocked) != [path]:
            sys.exit(f"failed to unlock correct collection '{path}'")

    def login(self):
        reply = self.bus.send_and_get_reply(Properties(self.address(ROOT, "Service")).get("Collections"), timeout=25)
        return LOGIN if LOGIN in reply.body[0][1] else ROOT + "/aliases/default"

    def open_session(self):
        return self.call(ROOT, "Service", "OpenSession", "sv", "plain", ("s", ""))[1]

    def find(self, attributes):
        collection = self.login()
        self.unlock(collection)
        items, = self.call(collection, "Collection", "SearchItems", "a{ss}", attributes)
        if not items:
            sys.exit("secret not found in keyring")
        return items[0]

    def set(self, attributes, secret):
        session = self.open_session()
        collection = self.login()
        self.unlock(collection)
        properties = {
            "org.freedesktop.Secret.Item.Label": ("s", "Password for '{username}' on '{service}'".format(**attributes)),
            "org.freedesktop.Secret.Item.Attributes": ("a{ss}", attributes),
        }
        _, prompt = self.call(
            collection, "Collection", "CreateItem", "a{sv}(oayays)b", properties,
            (session, b"", secret, "text/plain; charset=utf8"), True)
        self.handle_prompt(prompt, None)
        self.call(session, "Session", "Close")

    def get(self, attributes):
        item = self.find(attributes)
        session = self.open_session()
        self.unlock(item)
        (_, _, secret, _), = self.call(item, "Item", "GetSecret", "o", session)
        self.call(session, "Session", "Close")
        return secret

    def delete(self, attributes):
        prompt, = self.call(self.find(attributes), "Item", "Delete")
        self.handle_prompt(prompt, None)


def main():
    action, service, user = sys.argv[1:]
    attributes = {"username": user, "service": service}
    if action == "set":
        Service().set(attributes, sys.stdin.buffer.read())
    elif action == "get":
        sys.stdout.buffer.write(Service().get(attributes))
    else:
        Service().delete(attributes)


main()
