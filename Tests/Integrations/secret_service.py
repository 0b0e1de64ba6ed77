"""A home whose session bus starts kist-secret-service, for programs that want a keyring."""

import os
import re
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

from world import World

NAME = "org.freedesktop.secrets"
PASSPHRASE = "correct horse"


def imports(*modules):
    """Returns whether Python has these modules."""
    words = ["python", "-c", "import " + ", ".join(modules)]
    return shutil.which("python") is not None and subprocess.run(words, capture_output=True).returncode == 0


class ServiceWorld(World):
    """A home with a session bus without a keyring, on which kist is set up as the keyring.

    The bus also has the activation files of the machine, so an installed gnome-keyring would be started without kist's.
    """

    def start_kistd(self):
        if "DBUS_SESSION_BUS_ADDRESS" not in self.env:
            # dbus-daemon takes the home directory from the user database, not from HOME.
            self.env["XDG_DATA_HOME"] = f"{self.home}/.local/share"
            self.start_bus("<standard_session_servicedirs/>")
            self.run("kist", "setup", "secret-service", "--apply")
        # Only the passphrase opens the store, so it can be locked.
        super().start_kistd("--passphrase-fd", "0", input=PASSPHRASE)

    def process_of_service(self):
        """Returns the process that provides the keyring, or None."""
        words = ["gdbus", "call", "--session", "--dest", "org.freedesktop.DBus", "--object-path", "/",
                 "--method", "org.freedesktop.DBus.GetConnectionUnixProcessID", NAME]
        end = self.run(*words, fails=None)
        found = re.search(r"\(uint32 (\d+),\)", end.stdout)
        return int(found[1]) if found else None

    def stop_service(self):
        """Ends kist-secret-service, which the next call on the bus starts again."""
        if process := self.process_of_service():
            # Only root can read the link to the program, which is undumpable.
            program, = Path(f"/proc/{process}/cmdline").read_text().rstrip("\0").split("\0")
            assert program.endswith("/kist-secret-service"), program
            os.kill(process, signal.SIGTERM)
            self.wait("kist-secret-service ends", lambda: self.process_of_service() is None)

    def restart(self):
        self.stop_service()
        self.stop_kistd()
        self.start_kistd()

    def lock(self):
        self.run("kist", "lock")

    def unlock(self):
        self.run("kist", "unlock", input=PASSPHRASE + "\n")

    def load(self, *words):
        return self.run("kist", "load", *words).stdout

    def end(self):
        try:
            if "DBUS_SESSION_BUS_ADDRESS" in self.env:
                self.stop_service()
        finally:
            super().end()


class ServiceTest(unittest.TestCase):
    """A test with its own home and bus."""

    def setUp(self):
        self.world = ServiceWorld()
        self.addCleanup(self.world.end)

    def run_(self, *words, **options):
        return self.world.run(*words, **options)
