"""The first hour of a new user: on a server without systemd, on a desktop with gnome-keyring and in CI.

The sessions are in first-hour/, in the format of Tests/Transcript/sessions.py. In them, `logout` ends everything that the user
started, and logs in again. With the variable KIST_UPDATE_SESSIONS, the tests rewrite the sessions. They need root (`make test-dist`).
"""

import os
import sys
import unittest
from pathlib import Path

from bare import HOMES, Login, System, tarball
from booted import Machine
from test_ci import PASSPHRASE, PUBLISH
from test_deb import package

HERE = Path(__file__).parent / "first-hour"
sys.path.append(str(HERE.parents[1] / "Transcript"))
import sessions


class Home:
    """The home of alice, who has the files that Debian gives a new user. Each command runs in a login shell."""

    path = "/"
    environment = os.environ
    # Variables of the user, such as those that a CI system sets.
    variables = {}

    def shell(self, command, *before):
        return self.login.words([*before, "bash", "-l", "-c", command], "alice", {"TERM": "xterm"} | self.variables)

    def handles(self, command):
        if command == "logout":
            self.log_out_and_in()
        return command == "logout"

    def normal(self, text):
        return sessions.without_changes(text)


class Bare(Home):
    """A home on a bare system, with the tarball and other files; `files` has their content by name."""

    def __init__(self, tree, files={}, variables={}):
        self.system, self.variables = System(tree), variables
        # As on Debian 13; on Debian 12, others may enter a new home.
        self.system.shell("cp -r /etc/skel/. . && chmod 700 .", user="alice")
        for name, content in {tarball().name: tarball().read_bytes(), **files}.items():
            self.system.put(f"{HOMES['alice']}/{name}", content, mode=0o755, user="alice")
        self.login = Login(self.system)

    def log_out_and_in(self):
        self.login.end()
        self.login = Login(self.system)

    def end(self):
        self.login.end()
        self.system.end()


class Desktop(Home):
    """A home on a booted system with an unlocked keyring, with the package."""

    def __init__(self, tree):
        self.login = Machine(tree)
        self.login.shell(f"""
            mount -t tmpfs tmpfs /home/alice
            cp -r /etc/skel/. /home/alice
            cp /kist/.build-release/{package().name} /home/alice
            chown -R alice:alice /home/alice
            echo 'alice ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/alice""")
        self.unlock()

    def unlock(self):
        """Does what PAM does at a login to a desktop."""
        self.login.shell("printf login | gnome-keyring-daemon --replace --unlock --components=secrets", "alice")

    def log_out_and_in(self):
        self.login.shell("systemctl stop user@1000.service user-runtime-dir@1000.service; systemctl start user@1000.service")
        self.unlock()

    def end(self):
        self.login.end()


class FirstHour:
    """The tests for each Debian; `bare` and `desktop` name the variables with the root directories."""

    def follow(self, name, home, run=sessions.on_terminal):
        path = HERE / f"{name}.txt"
        written = sessions.carry_out(path.read_text(), home, run)
        difference = sessions.compare(path, written, "KIST_UPDATE_SESSIONS" in os.environ)
        self.assertEqual(difference, "", f"\n{difference}")

    def bare_home(self, **options):
        home = Bare(os.environ[self.bare], **options)
        self.addCleanup(home.end)
        return home

    def test_server(self):
        self.follow("server", self.bare_home())

    def test_desktop(self):
        home = Desktop(os.environ[self.desktop])
        self.addCleanup(home.end)
        self.follow("desktop", home)

    def test_ci(self):
        own = self.bare_home()
        self.follow("ci-own-machine", own)
        job = self.bare_home(
            files={"ci/secrets.kist": (own.system.files / "home/alice/ci/secrets.kist").read_bytes(), "publish": PUBLISH},
            variables={"CI": "true", "KIST_PASSPHRASE": PASSPHRASE})
        self.follow("ci-job", job, sessions.in_pipe)


class Debian12(FirstHour, unittest.TestCase):
    bare, desktop = "KIST_DEBIAN_12", "KIST_DESKTOP_12"


class Debian13(FirstHour, unittest.TestCase):
    bare, desktop = "KIST_DEBIAN_13", "KIST_DESKTOP_13"


if __name__ == "__main__":
    unittest.main()
