"""Debian's own programs that want a keyring, with kist's package as the keyring, on booted systems without a display.

The tests are those of Tests/Integrations, as a user. They need root (`make test-keyring-programs`).
"""

import os
import subprocess
import unittest

from booted import Machine
from test_deb import package


class Programs:
    """The tests for each Debian; `tree` names the variable with its root directory."""

    @classmethod
    def setUpClass(cls):
        cls.machine = Machine(os.environ[cls.tree])
        cls.addClassCleanup(cls.machine.end)
        cls.machine.shell(f"dpkg --install /kist/.build-release/{package().name}")

    def assert_pass(self, *names):
        """Runs tests of Tests/Integrations, which fail if a program is missing; none may be skipped."""
        variables = {"CI": "1", "KIST_PROGRAMS": "/usr/bin", "PYTHONPATH": "/kist/Tests/Integrations"}
        words = ["/usr/bin/python3", "-B", "-m", "unittest", "-v", *names]
        end = subprocess.run(
            self.machine.words(words, "alice", variables), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assertRegex(end.stderr, r"(?m)^Ran [1-9]\d* tests? in .*\n\nOK$")

    def test_without_windows(self):
        self.assert_pass("test_secret_service")

    def test_gh(self):
        self.assert_pass("test_secret_service_gh")

    def test_with_windows(self):
        self.assert_pass("test_secret_service_desktop")

    def test_the_unit_asks_for_the_passphrase_in_a_window(self):
        """From its sandbox, with pinentry on the X server, and with the prompter that the session bus starts."""
        def shell(script):
            return self.machine.shell("export DISPLAY=:7; " + script, "bob")

        # The other pinentry of Debian is one more client of the prompter.
        self.machine.shell("update-alternatives --set pinentry /usr/bin/pinentry-gtk-2")
        shell("printf 'correct horse' | kistd --passphrase-fd 0 -- kist setup secret-service --apply")
        shell("printf 'correct horse\\n' | kist unlock")
        shell("systemd-run --user --quiet Xvfb :7 -nolisten tcp -noreset; until xdotool getdisplaygeometry; do sleep 0.1; done")
        shell("systemctl --user set-environment DISPLAY=:7")
        shell("printf hunter2 | secret-tool store --label=x service example.org username bob")
        self.assertEqual(shell("systemctl --user is-active kist-secret-service"), "active")
        self.assertEqual(shell("kist load example.org bob"), "hunter2")
        for program in ["pinentry", "gcr-prompter"]:
            # The X server may drop the first keys of a new window. Another window asks again then.
            shown = shell("""
                kist lock
                secret-tool lookup service example.org username bob > found & lookup=$!
                while [ -e /proc/$lookup ]; do
                  if window=$(xdotool search --onlyvisible --name .); then
                    ps -o args= -p $(xdotool getwindowpid $window)
                    timeout 5 xdotool windowfocus --sync $window key ctrl+a type 'correct horse'
                    xdotool key Return
                  fi
                  sleep 1
                done
                wait $lookup && cat found""").splitlines()
            self.assertIn(program, shown[0])
            self.assertEqual(shown[-1], "hunter2")
            # From now on, the bus gives the programs that it starts the display, as at a login in a desktop.
            shell("dbus-update-activation-environment DISPLAY")


class Debian12(Programs, unittest.TestCase):
    tree = "KIST_DEBIAN_12"


class Debian13(Programs, unittest.TestCase):
    tree = "KIST_DEBIAN_13"

    def test_an_application_of_flatpak(self):
        # In the sandbox of an application, bubblewrap sets a limit of the kernel there.
        self.machine.shell("mount --options remount,bind,rw /proc/sys")
        self.assert_pass("flatpak_tests")


if __name__ == "__main__":
    unittest.main()
