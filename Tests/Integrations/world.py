"""A home for each test, with a kistd, for the tools that get credentials from kist."""

import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

PROGRAMS = Path(os.environ["KIST_PROGRAMS"]).resolve()
# The links that `make install` creates.
LINKS = re.search("^HELPERS := (.*)$", (Path(__file__).parents[2] / "Makefile").read_text(), re.M)[1].split()


def needs(program, reason="", where=None):
    """Skips a test without a program; if CI is set, fails it."""
    if where or shutil.which(program):
        return lambda test: test
    if "CI" in os.environ:
        raise RuntimeError(f"this machine lacks {program} {reason}; its tests may not be skipped where CI is set")
    return unittest.skip(f"this needs {program} {reason}")


class World:
    """A home whose programs see nothing of the user who runs the tests, and end with the test."""

    def __init__(self, keyring=False):
        self.home = Path(tempfile.mkdtemp(prefix="kist-"))
        self.children = []
        for name in ["run", "bin"]:
            (self.home / name).mkdir(mode=0o700)
        for name in LINKS:
            (self.home / "bin" / name).symlink_to(PROGRAMS / "kist")
        self.env = {
            "HOME": str(self.home), "KIST_AUTOSTART": "0", "XDG_RUNTIME_DIR": str(self.home / "run"), "LANG": "C.UTF-8",
            "PATH": f"{self.home}/bin:{PROGRAMS}:" + os.environ["PATH"],
            # A browser in the terminal would overwrite the output of a tool.
            "BROWSER": "true",
        }
        try:
            if keyring:
                self.start_keyring()
            self.start_kistd()
        except BaseException:
            self.end()
            raise

    def path_of_only(self, *tools):
        """Returns a PATH with only these tools, without helpers that a tool would find by itself."""
        folder = Path(tempfile.mkdtemp(dir=self.home))
        for tool in tools:
            (folder / tool).symlink_to(shutil.which(tool))
        return str(folder)

    def start_kistd(self, *options, input=""):
        self.kistd = self.start("kistd", "--log-level", "error", *options, input=input)
        self.wait("kistd answers", lambda: self.run("kist", "status", fails=None).returncode == 0)

    def stop_kistd(self):
        self.kistd.terminate()
        self.kistd.wait()

    def start_bus(self, services):
        """Starts a private session bus; `services` is the element of its configuration that names the activation files."""
        config = self.home / "bus.conf"
        config.write_text(
            f"<busconfig><type>session</type><listen>unix:path={self.home}/bus</listen>"
            f"<auth>EXTERNAL</auth>{services}<policy context='default'>"
            "<allow send_destination='*' eavesdrop='true'/><allow eavesdrop='true'/><allow own='*'/>"
            "</policy></busconfig>")
        self.start("dbus-daemon", f"--config-file={config}", "--nofork", "--nopidfile")
        self.wait("the bus listens", (self.home / "bus").exists)
        self.env["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={self.home}/bus"

    def start_keyring(self):
        """Starts an unlocked gnome-keyring on a private bus, without a prompter."""
        (self.home / "services").mkdir()
        self.start_bus(f"<servicedir>{self.home}/services</servicedir>")
        self.start("gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets", input="pw")
        owner = ["gdbus", "call", "--session", "--dest", "org.freedesktop.secrets", "--object-path",
                 "/org/freedesktop/secrets", "--method", "org.freedesktop.Secret.Service.ReadAlias", "default"]
        self.wait("the keyring is available", lambda: "collection" in self.run(*owner, fails=None).stdout)

    def start(self, *words, input=""):
        with open(self.home / "log", "a") as log:
            child = subprocess.Popen(
                words, env=self.env, text=True, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log)
        child.stdin.write(input)
        child.stdin.close()
        self.children.append(child)
        return child

    def wait(self, what, holds):
        for _ in range(400):
            if holds():
                return
            time.sleep(0.05)
        raise AssertionError(f"not in time: {what}: " + (self.home / "log").read_text())

    def run(self, *words, input="", fails=False, **env):
        """Runs a program, which must succeed, or fail if `fails`; None allows both."""
        end = subprocess.run(
            words, env=self.env | env, input=input, text=True, capture_output=True, timeout=120, cwd=self.home)
        if fails is not None:
            assert (end.returncode != 0) == fails, f"{words}: {end.returncode}: {end.stdout}{end.stderr}"
        return end

    def credentials(self, *options):
        """Returns the service and the account of each stored credential."""
        lines = self.run("kist", "list", *options).stdout.splitlines()
        return sorted(tuple(line.split("\t")[:2]) for line in lines)

    def while_unavailable(self):
        """Yields the expected message while kist is locked, and then while no kistd runs; restores both afterwards."""
        self.run("kist", "lock")
        yield "locked"
        self.run("kist", "unlock")
        self.stop_kistd()
        yield "no kistd is listening"
        self.start_kistd()

    def end(self):
        for child in reversed(self.children):
            child.terminate()
            child.wait()
        shutil.rmtree(self.home, ignore_errors=True)


class IntegrationTest(unittest.TestCase):
    """A test with its own world, with the encrypted file or a keyring."""

    keyring = False

    def setUp(self):
        self.world = World(keyring=self.keyring)
        self.addCleanup(self.world.end)
        storage = self.world.run("kist", "status").stdout.splitlines()[0]
        self.assertEqual(storage, "storage: " + ("libsecret" if self.keyring else "encrypted-file"))

    def run_(self, *words, **options):
        return self.world.run(*words, **options)
