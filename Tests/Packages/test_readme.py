"""The three quickstarts of README.md, with the lines as they are written there, in bare Debian systems. Needs root (`make test-dist`)."""

import os
import unittest

from bare import ROOT, System, blocks, tarball
from test_ci import DIGEST, PASSPHRASE, PUBLISH, sealed

SECRET = "swordfish-of-the-readme"
SHOW_TOKEN = "#!/bin/sh\nprintf 'the token is %s\\n' \"$GH_TOKEN\"\n"


def quickstart(heading):
    return blocks("../README.md", heading, "sh")[0]


class Quickstarts:
    """The tests for each Debian; `bare` and `desktop` name the variables with the root directories."""

    def system(self, tree):
        system = System(os.environ[tree])
        self.addCleanup(system.end)
        return system

    def test_each_has_five_lines_at_most(self):
        for heading in ["On a server", "On a desktop", "In CI"]:
            self.assertLessEqual(len(quickstart(heading).splitlines()), 5, heading)

    def test_server(self):
        system = self.system(self.bare)
        system.put("/home/alice/kist.tar.gz", tarball().read_bytes(), user="alice")
        system.shell(f"mv kist.tar.gz {tarball().name}", user="alice")
        system.put("/home/alice/deploy", SHOW_TOKEN, mode=0o755, user="alice")
        shown = system.shell(quickstart("On a server"), user="alice", variables={"TOKEN": SECRET})
        self.assertIn(f"{SECRET}the token is {SECRET}\nstorage: encrypted-file\n", shown)
        self.assertEqual(system.holds(SECRET), [])
        # The processes of the first session have ended.
        self.assertEqual(system.shell(".local/bin/kist load https://github.com alice", user="alice"), SECRET)

    def test_desktop(self):
        system = self.system(self.desktop)
        (package,) = (ROOT / ".build-release").glob("kist_*.deb")
        system.put(f"/home/alice/{package.name}", package.read_bytes(), user="alice")
        system.put("/etc/sudoers.d/alice", "alice ALL=(ALL) NOPASSWD: ALL\n", mode=0o440)
        netrc = "machine git.example login alice password hunter3\n"
        system.put("/home/alice/.netrc", netrc, mode=0o600, user="alice")
        script = f"""
            printf login | gnome-keyring-daemon --unlock --components=secrets > control
            ({quickstart("On a desktop").replace("kist save https://github.com alice", f"printf {SECRET} | kist save https://github.com alice")}) > shown 2>&1 || true
            kist status | head -n 1
            for host in github.com git.example; do
              printf 'protocol=https\\nhost=%s\\n\\n' $host | git credential fill | grep password
            done
            """
        system.put("/home/alice/session", script, user="alice")
        end = system.run(["dbus-run-session", "bash", "-e", "session"], user="alice")
        lines = ["storage: libsecret", f"password={SECRET}", "password=hunter3"]
        self.assertEqual(end.stdout.splitlines(), lines, end.stderr + system.shell("cat shown", user="alice"))

    def test_ci(self):
        system = self.system(self.bare)
        system.put("/root/kist.tar.gz", tarball().read_bytes())
        system.shell("tar --extract --file kist.tar.gz && ./kist-*/install.sh")
        system.put("/home/alice/ci/secrets.kist", sealed(), user="alice")
        system.put("/home/alice/publish", PUBLISH, mode=0o755, user="alice")
        shown = system.shell(quickstart("In CI"), user="alice", variables={"KIST_PASSPHRASE": PASSPHRASE})
        self.assertEqual(shown.split()[0], DIGEST)

class Debian12(Quickstarts, unittest.TestCase):
    bare, desktop = "KIST_DEBIAN_12", "KIST_DESKTOP_12"

class Debian13(Quickstarts, unittest.TestCase):
    bare, desktop = "KIST_DEBIAN_13", "KIST_DESKTOP_13"

if __name__ == "__main__":
    unittest.main()
