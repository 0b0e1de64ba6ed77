"""A session bus of its own, the kist-secret-service on it, and programs that call it."""

import subprocess
import time

from jeepney import DBusAddress, MessageType, new_method_call
from jeepney.io.blocking import open_dbus_connection

ROOT = "/org/freedesktop/secrets"
DEFAULT = f"{ROOT}/aliases/default"
IN_MEMORY = f"{ROOT}/collection/session"
NAME = "org.freedesktop.secrets"
PATIENCE = 60
CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={folder}/bus</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


class Refused(Exception):
    """An error reply; `name` is the name of the error."""

    def __init__(self, reply):
        self.name = reply.header.fields.get(4, "")
        super().__init__(f"{self.name}: {reply.body[0] if reply.body else ''}")


class Provider:
    """A bus, and a kist-secret-service that serves the credentials of a kistd."""

    def __init__(self, program, kistd):
        self.folder = kistd.folder
        self.address = f"unix:path={self.folder}/bus"
        self.environment = kistd.environment | {"DBUS_SESSION_BUS_ADDRESS": self.address}
        self.command = [str(program), "--socket", str(kistd.socket)]
        self.log = self.folder / "provider.log"
        self.bus = self.process = None

    def start_bus(self):
        configuration = self.folder / "bus.conf"
        configuration.write_text(CONFIGURATION.format(folder=self.folder))
        self.bus = subprocess.Popen(["dbus-daemon", f"--config-file={configuration}", "--nofork", "--nopidfile"],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until((self.folder / "bus").exists)

    def spawn(self):
        """Starts the program once its name is free."""
        wait_until(lambda: not self.has_name())
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log)

    def start(self):
        self.spawn()
        wait_until(lambda: self.process.poll() is not None or self.has_name())
        if self.process.poll() is not None:
            raise RuntimeError(f"kist-secret-service ended: {self.said()}")

    def has_name(self):
        with Program(self.address) as program:
            return program.call("/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner", "s", (NAME,),
                                to="org.freedesktop.DBus")[0]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        for process in (self.process, self.bus):
            if process is not None:
                process.terminate()
                process.wait(PATIENCE)

    def said(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""


class Program:
    """A program on the bus; secrets cross it in plaintext."""

    def __init__(self, address):
        self.connection = open_dbus_connection(bus=address)
        self.session = None

    def call(self, path, interface, member, types="", values=(), to=NAME):
        """Returns the values of the reply; throws Refused for an error."""
        message = new_method_call(DBusAddress(path, bus_name=to, interface=interface), member, types, values)
        reply = self.connection.send_and_get_reply(message, timeout=PATIENCE)
        if reply.header.message_type == MessageType.error:
            raise Refused(reply)
        return reply.body

    def open_session(self):
        self.session = self.call(ROOT, "org.freedesktop.Secret.Service", "OpenSession", "sv", ("plain", ("s", "")))[1]

    def sent(self, secret, content_type="text/plain"):
        return (self.session, b"", secret, content_type)

    def create(self, secret, attributes, label="label", where=DEFAULT, content_type="text/plain"):
        """Saves an item in place of the one with the same attributes; returns its path."""
        properties = {"org.freedesktop.Secret.Item.Label": ("s", label),
                      "org.freedesktop.Secret.Item.Attributes": ("a{ss}", attributes)}
        return self.call(where, "org.freedesktop.Secret.Collection", "CreateItem", "a{sv}(oayays)b",
                         (properties, self.sent(secret, content_type), True))[0]

    def set_secret(self, item, secret):
        self.call(item, "org.freedesktop.Secret.Item", "SetSecret", "(oayays)", (self.sent(secret),))

    def delete(self, item):
        self.call(item, "org.freedesktop.Secret.Item", "Delete")

    def search(self, attributes):
        """Returns the paths of the unlocked items."""
        return self.call(ROOT, "org.freedesktop.Secret.Service", "SearchItems", "a{ss}", (attributes,))[0]

    def secrets(self, items):
        """Returns the secrets by the paths of their items."""
        found, = self.call(ROOT, "org.freedesktop.Secret.Service", "GetSecrets", "aoo", (items, self.session))
        return {item: secret for item, (_, _, secret, _) in found.items()}

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError("a condition was not met in time")
        time.sleep(0.005)
