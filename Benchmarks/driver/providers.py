"""Providers of the Secret Service, each on a bus of its own, with passwords in it."""

import os
import pathlib
import subprocess
import time

from . import processes, programs, requests
from .daemon import Daemon
from .keyring import Keyring

SCHEMA = "io.kist.Credential"
SECRET = "correct horse battery staple {:07}"


class Provider(Keyring):
    """A bus with a provider that has a number of items."""

    def __init__(self, folder, items):
        folder.mkdir()
        super().__init__(folder)
        self.items = items
        # Where the measuring programs are.
        self.programs = folder.parent

    def pin(self, cpus):
        """Pins the bus, the provider, and all other processes behind it."""
        for pid in self.pids():
            processes.pin(pid, cpus)

    def pids(self):
        return [process.pid for process in self.processes]

    def call(self, *words):
        return subprocess.run(
            ["gdbus", "call", "--session", "--dest", "org.freedesktop.secrets", "--object-path",
             "/org/freedesktop/secrets", "--method", *words], env=self.environment, capture_output=True,
            text=True, check=False).stdout

    def _wait(self):
        processes.wait("the provider", lambda: "collection" in self.call(
            "org.freedesktop.Secret.Service.ReadAlias", "default"))


class GnomeKeyring(Provider):
    """gnome-keyring, with a keyring that has a password if it is filled by saves, and else none.

    It writes its whole file at each save. So 10,000 items are written as a keyring without a password, which is a
    text file. That makes no difference to a lookup, because it searches in memory.
    """
    name = "gnome-keyring"

    def _start_provider(self):
        if self.items <= 1000:
            super()._start_provider()
            if self.items:
                programs.measure([self.programs / "libsecret", "fill", self.items, self.items],
                                 environment=self.environment)
            return
        keyrings = self.folder / "data" / "keyrings"
        keyrings.mkdir(parents=True)
        (keyrings / "default").write_text("login")
        (keyrings / "login.keyring").write_text(
            "[keyring]\ndisplay-name=login\nctime=0\nmtime=0\nlock-on-idle=false\nlock-after=false\n"
            + "".join(self._item(number) for number in range(self.items)))
        self._start(["gnome-keyring-daemon", "--foreground", "--components=secrets"])
        self._wait()

    @staticmethod
    def _item(number):
        lines = [f"\n[{number + 1}]\nitem-type=0\ndisplay-name=Alice at work\nsecret={SECRET.format(number)}\n"
                 "mtime=1700000000\nctime=1700000000\n"]
        attributes = {**requests.key(number), "xdg:schema": SCHEMA}
        lines += [f"\n[{number + 1}:attribute{index}]\nname={name}\ntype=string\nvalue={value}\n"
                  for index, (name, value) in enumerate(attributes.items())]
        return "".join(lines)


class Least(Provider):
    """The least possible provider on sd-bus."""
    name = "least provider"

    def _start_provider(self):
        self._start([self.programs / "least_provider", str(self.items)])
        self._wait()


class Kist(Provider):
    """kist-secret-service, with a kistd that keeps an encrypted file."""
    name = "kist"

    def __init__(self, folder, items, binaries):
        super().__init__(folder, items)
        self.binaries = pathlib.Path(binaries)
        self.daemon = Daemon(self.binaries / "kistd", folder, items)
        self.daemon.programs = self.programs
        self.environment["KIST_SOCKET"] = str(self.daemon.socket)
        self.adapter = None

    def _start_provider(self):
        self.daemon.start()
        if self.items:
            self.daemon.fill()
        self.start_adapter()

    def start_adapter(self):
        """Starts the adapter; returns the seconds until the first search was answered."""
        attributes = {**requests.key(max(self.items - 1, 0)), "xdg:schema": SCHEMA}
        words = "{" + ", ".join(f"'{name}': '{value}'" for name, value in attributes.items()) + "}"
        question, argument = ("SearchItems", words) if self.items else ("ReadAlias", "default")
        self.adapter = self._start([str(self.binaries / "kist-secret-service")])
        began = time.monotonic()
        while "/collection/" not in self.call("org.freedesktop.Secret.Service." + question, argument):
            if self.adapter.poll() is not None:
                raise SystemExit("kist-secret-service ended before it answered")
            if time.monotonic() - began > 60:
                raise SystemExit("kist-secret-service did not answer")
        return time.monotonic() - began

    def stop_adapter(self):
        self.adapter.terminate()
        self.adapter.wait(timeout=60)
        self.processes.remove(self.adapter)

    def resident(self):
        time.sleep(3)
        return processes.resident(self.adapter.pid)

    def pids(self):
        return [*super().pids(), self.daemon.process.pid]

    def stop(self):
        super().stop()
        self.daemon.stop()
