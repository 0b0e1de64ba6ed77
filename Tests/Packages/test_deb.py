"""The Debian package: built twice; installed, used and purged on booted systems. Needs root (`make test-deb`)."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from booted import ROOT, Machine

MADE = ROOT / ".build-release"


def package():
    (file,) = MADE.glob("kist_*.deb")
    return file


def field(name):
    return subprocess.check_output(["dpkg-deb", "--field", package(), name], text=True).strip()


class Building(unittest.TestCase):
    def test_two_builds_are_identical(self):
        """This holds with another time zone, umask, language and home."""
        with tempfile.TemporaryDirectory() as folder:
            first = Path(shutil.copy(package(), folder))
            subprocess.run(
                ["sh", "-c", "umask 077; exec make deb"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL,
                env=os.environ | {"TZ": "Asia/Tokyo", "LC_ALL": "C", "HOME": folder})
            self.assertEqual(first.read_bytes(), package().read_bytes())

    def test_the_fields_name_version_and_libraries(self):
        version = subprocess.check_output([MADE / "bin/kist", "--version"], text=True).strip()
        self.assertTrue(field("Version").startswith(version + "-"), "debian/changelog has another version than KistVersion")
        for library in ["libsodium23", "libsqlite3-0", "libsecret-1-0"]:
            self.assertIn(library, field("Depends"))
        scripts = subprocess.check_output(["dpkg-deb", "--ctrl-tarfile", package()])
        names = subprocess.run(["tar", "--list"], input=scripts, capture_output=True, check=True).stdout.decode()
        self.assertNotIn("conffiles", names)

    def test_the_manual_pages_cause_no_warnings(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["dpkg-deb", "--extract", package(), folder], check=True)
            pages = [path for path in Path(folder).glob("usr/share/man/man?/*.gz") if not path.is_symlink()]
            commands = json.loads(subprocess.check_output([MADE / "bin/kist", "--experimental-dump-help"]))["command"]["subcommands"]
            names = {f"kist-{command['commandName']}.1" for command in commands if command["commandName"] != "help"}
            self.assertEqual({page.stem for page in pages}, names | {"kist.1", "kist-protocol.7", "kist-troubleshooting.7", "kist-secret-service.8", "kistd.8"})
            for page in pages:
                shown = subprocess.run(
                    ["man", "--warnings", "--local-file", page], capture_output=True, text=True, check=True,
                    env=os.environ | {"LC_ALL": "C.UTF-8", "MANWIDTH": "80"})
                self.assertIn("kist", shown.stdout)
                if page.stem == "kist.1":
                    self.assertLess(shown.stdout.count("\n"), 300)
                self.assertEqual(shown.stderr, "")
                lint = subprocess.run(["mandoc", "-Tlint", page], capture_output=True, text=True)
                self.assertEqual((lint.returncode, lint.stdout), (0, ""))

    def test_lintian_reports_nothing(self):
        """One tag is suppressed: it applies only to packages that enter Debian itself."""
        end = subprocess.run(
            ["lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", "initial-upload-closes-no-bugs",
             package()], capture_output=True, text=True)
        self.assertEqual((end.returncode, end.stdout), (0, ""), end.stderr)


class Installing:
    """The tests for each Debian; `tree` names the variable with its root directory.

    `systemd_reads_the_file` is whether systemd starts gnome-keyring because of its file in /etc/xdg/autostart."""

    def setUp(self):
        self.machine = Machine(os.environ[self.tree])
        self.addCleanup(self.machine.end)

    def active(self, unit, user):
        return self.machine.shell(f"systemctl --user show --property ActiveState --value {unit}", user) == "active"

    def test_installing_using_updating_and_purging(self):
        shell = self.machine.shell
        before = self.machine.files()
        home = shell("find . ! -type d", "alice")
        file = f"/kist/.build-release/{package().name}"
        shell(f"dpkg --install {file}")
        self.assertEqual(shell("dpkg-query --show --showformat '${db:Status-Status} ${Conffiles}' kist"), "installed")
        self.assertEqual(shell("dpkg --verify kist"), "")

        modes = shell("cd /usr/bin && stat --format %a:%U kistd kist kist-secret-service")
        self.assertEqual(modes, "711:root\n711:root\n711:root")

        # No socket starts for logged-in users until they start it or log in again.
        for user in ["alice", "bob"]:
            self.assertFalse(self.active("kistd.socket", user))
        shell("systemctl restart user@1000.service")
        shell("systemctl --user start kistd.socket kistd-credentials.socket", "bob")
        for user in ["alice", "bob"]:
            self.assertTrue(self.active("kistd.socket", user))
            self.assertTrue(self.active("kistd-credentials.socket", user))
            self.assertFalse(self.active("kistd.service", user))
            shell(f"printf {user} | kist save git.example {user}", user)
            self.assertEqual(shell(f"kist load git.example {user}", user), user)
            self.assertTrue(self.active("kistd.service", user))
        asked = "protocol=https\\nhost=git.example\\nusername=alice\\n"
        shell(f"printf '{asked}password=pw\\n' | git-credential-kist store", "alice")
        self.assertIn("password=pw", shell(f"printf '{asked}' | git-credential-kist get", "alice"))

        # An update does not restart kistd, which may have been unlocked with a passphrase.
        process = shell("systemctl --user show --property MainPID --value kistd.service", "alice")
        shell("kistd --detach --data ~/own --socket ~/own/socket --storage encrypted-file", "bob")
        # Users may not read the program of the package.
        shell("install -D /usr/bin/kistd /home/bob/bin/kistd")
        shell("~/bin/kistd --detach --data ~/other --socket ~/other/socket --storage encrypted-file", "bob")
        shell(f"dpkg --install {file}")
        self.assertEqual(shell("systemctl --user show --property MainPID --value kistd.service", "alice"), process)

        # The removal ends each kistd of the package, and none of another installation.
        shell("dpkg --remove kist")
        for user in ["alice", "bob"]:
            for unit in ["kistd.socket", "kistd-credentials.socket", "kistd.service"]:
                self.assertFalse(self.active(unit, user))
        shell("until [ \"$(pgrep --count --exact kistd)\" -le 1 ]; do sleep 0.1; done")
        self.assertEqual(shell("readlink /proc/$(pgrep --exact kistd)/exe"), "/home/bob/bin/kistd")
        shell("pkill --exact kistd")
        shell("dpkg --purge kist")
        self.assertEqual(self.machine.files() - before, set())
        left = set(shell("find . ! -type d", "alice").splitlines()) - set(home.splitlines())
        left = {re.sub("progress-[0-9a-f]{32}$", "progress", name) for name in left}
        self.assertEqual(left, {
            "./.local/share/kist/credentials.db", "./.local/share/kist/credentials.db.lock",
            "./.local/state/kist/audit.jsonl", "./.local/state/kist/audit.jsonl.mark",
            "./.local/state/kist/key", "./.local/state/kist/progress", "./.local/state/kist/served",
            "./.local/state/kist/served.users", "./.local/state/kist/storage"})

        # After another installation, the credentials are available again.
        shell(f"dpkg --install {file}")
        shell("systemctl --user start kistd.socket", "alice")
        self.assertEqual(shell("kist load git.example alice", "alice"), "alice")

    def test_kist_takes_the_place_of_a_gnome_keyring_that_starts_at_login(self):
        """With the commands of the documentation. The removal of the package then ends kist-secret-service."""
        shell = self.machine.shell
        commands = (ROOT / "docs/secret-service.md").read_text().partition("## Where gnome-keyring starts at login")[2]
        commands = re.search("```sh\n(.*?)```", commands, re.S)[1]
        generator = (
            "rm -rf ~/made && mkdir ~/made && XDG_CURRENT_DESKTOP=GNOME "
            "/usr/lib/systemd/user-generators/systemd-xdg-autostart-generator ~/made ~/made ~/made && "
            "find ~/made -name '*x2dsecrets*.service'")
        login = "systemctl restart user@1000.service"
        provider = "busctl --user status org.freedesktop.secrets | sed -n 's/^Comm=//p'"
        shell(f"dpkg --install /kist/.build-release/{package().name}")
        shell(login)
        shell("kist setup secret-service --apply", "alice")
        shell("systemctl --user start gnome-keyring-daemon.service", "alice")
        shell(f"until [ -n \"$({provider})\" ]; do sleep 0.1; done", "alice")
        self.assertEqual(shell(provider, "alice"), "gnome-keyring-d")
        self.assertEqual(shell(generator, "alice") != "", self.systemd_reads_the_file)

        shell(commands, "alice")
        self.assertEqual(shell(generator, "alice"), "")
        shell(login)
        self.assertIn("masked", shell("systemctl --user start gnome-keyring-daemon.service 2>&1", "alice", status=1))
        shell("printf hunter2 | secret-tool store --label=token service example.org username alice", "alice")
        self.assertEqual(shell("kist load example.org alice", "alice"), "hunter2")
        self.assertEqual(shell(provider, "alice"), "kist-secret-ser")

        shell("dpkg --remove kist")
        shell("pgrep kist-secret-ser", status=1)

    def test_kistd_started_by_hand_serves_one_user(self):
        shell = self.machine.shell
        shell(f"dpkg --install /kist/.build-release/{package().name}")
        script = """
            export KIST_SOCKET=$HOME/own/socket; mkdir -m 700 own
            kistd --socket "$KIST_SOCKET" --log-level debug 2>log & until kist status; do sleep 0.1; done >/dev/null 2>&1
            printf pw | kist save s && kist load s; kill %1; wait"""
        self.assertEqual(shell(script, "alice").splitlines()[-1], "pw")
        self.assertIn("confined calls=seccomp files=Landlock ", shell("cat log", "alice"))

    def test_an_update_keeps_disabled_sockets_disabled(self):
        shell = self.machine.shell
        file = f"/kist/.build-release/{package().name}"
        shell(f"dpkg --install {file}")
        shell("systemctl --global disable kistd.socket kistd-credentials.socket")
        shell(f"dpkg --install {file}")
        self.assertEqual(shell("find /etc/systemd/user -name 'kistd*'"), "")


class Debian12(Installing, unittest.TestCase):
    tree = "KIST_DEBIAN_12"
    # systemd 252 leaves the file to gnome-session.
    systemd_reads_the_file = False


class Debian13(Installing, unittest.TestCase):
    tree = "KIST_DEBIAN_13"
    systemd_reads_the_file = True


if __name__ == "__main__":
    unittest.main()
