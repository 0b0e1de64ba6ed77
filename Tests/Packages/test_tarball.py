"""The tarball of `make dist`: built twice; installed, used and removed on bare Debian systems. Needs root (`make test-dist`)."""

import os
import re
import shutil
import struct
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

from bare import ROOT, System, tarball


class Building(unittest.TestCase):
    def test_two_builds_are_identical(self):
        """This holds with another time zone, umask, language and home."""
        with tempfile.TemporaryDirectory() as folder:
            first = Path(shutil.copy(tarball(), folder))
            subprocess.run(
                ["sh", "-c", "umask 077; exec make dist"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL,
                env=os.environ | {"TZ": "Asia/Tokyo", "LC_ALL": "C", "HOME": folder})
            self.assertEqual(first.read_bytes(), tarball().read_bytes())
        subprocess.run(["sha256sum", "--check", "--quiet", tarball().name + ".sha256"], cwd=tarball().parent, check=True)

    def test_the_programs_need_no_library_and_all_files_belong_to_root(self):
        with tarfile.open(tarball()) as archive:
            entries = archive.getmembers()
            self.assertEqual({(entry.uid, entry.gid, entry.uname, entry.gname) for entry in entries}, {(0, 0, "", "")})
            self.assertEqual(len({entry.mtime for entry in entries}), 1)
            for name in ["kist", "kistd"]:
                (program,) = [entry for entry in entries if entry.name.endswith(f"/bin/{name}")]
                content = archive.extractfile(program).read()
                self.assertNotIn(3, segments(content), f"{name} has an interpreter")

    def test_each_unit_and_each_page_of_a_daemon_has_its_program(self):
        with tarfile.open(tarball()) as archive:
            files = {Path(entry.name).relative_to(Path(entry.name).parts[0]): entry for entry in archive.getmembers()}
            named = {path.stem for path in files if path.match("man8/*.8")}
            for path in files:
                if path.suffix == ".service":
                    text = archive.extractfile(files[path]).read().decode()
                    named |= set(re.findall(r"^ExecStart=/usr/bin/(\S+)", text, re.M))
        self.assertIn("kistd", named)
        self.assertEqual({name for name in named if Path("bin", name) not in files}, set())


def segments(program):
    """Returns the types of an ELF file's program headers."""
    offset, = struct.unpack_from("<Q", program, 0x20)
    size, count = struct.unpack_from("<HH", program, 0x36)
    return [struct.unpack_from("<I", program, offset + number * size)[0] for number in range(count)]


class Installing:
    """The tests for each Debian; `tree` names the variable with its root directory."""

    def setUp(self):
        self.system = System(os.environ[self.tree])
        self.addCleanup(self.system.end)

    def unpack(self, user):
        home = "/root" if user == "root" else f"/home/{user}"
        self.system.put(f"{home}/kist.tar.gz", tarball().read_bytes(), user=user)
        self.system.shell("tar --extract --file kist.tar.gz; rm kist.tar.gz; mv kist-* kist", user=user)

    def test_root_installs_for_all_users(self):
        shell = self.system.shell
        self.unpack("root")
        shell("./kist/install.sh")
        self.assertEqual(shell("cd /usr/local/bin; stat --format %a:%U kistd kist"), "711:root\n711:root\n")
        self.assertIn("ExecStart=/usr/local/bin/kistd\n", shell("cat /usr/local/lib/systemd/user/kistd.service"))
        self.assertEqual(shell("systemctl --version", status=127), "")
        self.assertEqual(
            shell("""
                kistd -- sh -ec '
                  printf pw | kist save git.example alice
                  kist load git.example alice; echo
                  printf "protocol=https\\nhost=git.example\\nusername=alice\\n" > request
                  (cat request; echo password=pw2) | git-credential-kist store
                  git-credential-kist get < request | grep password'
                ls .local/share/kist/credentials.db
                kistd probe | grep ^keyring""", user="alice").splitlines(),
            ["pw", "password=pw2", ".local/share/kist/credentials.db",
             "keyring: not usable: this kistd was built without support for keyrings"])
        confined = self.system.run(["kistd", "--log-level", "debug", "--", "true"], user="alice")
        self.assertIn("confined calls=seccomp files=Landlock ", confined.stderr)
        self.assertEqual(shell("kist doctor | grep ^problem || true", user="alice"), "")

    def test_a_user_installs_and_removes_it_and_keeps_the_data(self):
        shell = self.system.shell
        self.unpack("alice")
        before = shell("find . -path ./kist -prune -o ! -type d -print", user="alice")
        shell("./kist/install.sh", user="alice")
        self.assertEqual(shell("cd .local/bin; stat --format %a:%U kistd kist", user="alice"), "111:alice\n111:alice\n")
        self.assertIn(
            "ExecStart=/home/alice/.local/bin/kistd\n", shell("cat .local/share/systemd/user/kistd.service", user="alice"))
        script = "PATH=$HOME/.local/bin:$PATH; kistd -- sh -ec 'printf pw | kist save s; kist load s'"
        self.assertEqual(shell(script, user="alice"), "pw")
        # An update replaces programs that run.
        update = script.replace("kist load s", "~/kist/install.sh >~/shown; kist load s")
        self.assertEqual(shell(update, user="alice"), "pw")
        shown = shell("cat shown; rm shown", user="alice")
        self.assertIn("updated below /home/alice/.local. A running kistd continues with the old program", shown)
        self.assertNotIn("first secret", shown)
        # Also while a kistd runs whose program was removed.
        again = "./kist/install.sh uninstall >shown; ./kist/install.sh >shown; eval \"$(grep -o 'kill [0-9]*' shown)\""
        shell(f"PATH=$HOME/.local/bin:$PATH; printf pw | kist save s; {again}", user="alice")
        self.assertIn(
            "updated below /home/alice/.local. A running kistd continues with the old program",
            shell("cat shown; rm shown", user="alice"))
        shell("./kist/install.sh uninstall", user="alice")
        left = shell("find . -path ./kist -prune -o ! -type d -print | grep -v share/kist/ | grep -v state/kist/ || true", user="alice")
        self.assertEqual(left, before)
        shell("./kist/install.sh", user="alice")
        self.assertEqual(shell("PATH=$HOME/.local/bin:$PATH; kistd -- kist load s", user="alice"), "pw")

    def test_an_unknown_argument_installs_nothing(self):
        self.unpack("alice")
        for words, status in [(["unistall"], 64), (["uninstall", "x"], 64), ([""], 64), (["--help"], 0)]:
            end = self.system.run(["./kist/install.sh", *words], user="alice")
            self.assertEqual(end.returncode, status, words)
            shown, other = (end.stdout, end.stderr) if status == 0 else (end.stderr, end.stdout)
            self.assertIn("usage: ./install.sh [uninstall]\n", shown)
            self.assertEqual(other, "")
        self.assertEqual(self.system.shell("ls -A .local || true", user="alice"), "")

    def test_a_place_that_systemd_cannot_name_is_refused(self):
        self.unpack("alice")
        for place in ["relative", "/home/alice/a b", "/home/alice/$x"]:
            end = self.system.run(["./kist/install.sh"], user="alice", variables={"PREFIX": place})
            self.assertEqual(end.returncode, 1)
            self.assertIn("PREFIX ", end.stderr)

    def test_without_a_home_it_says_what_to_set(self):
        self.unpack("alice")
        end = self.system.run(["./kist/install.sh"], user="alice", variables={"HOME": ""})
        self.assertEqual((end.returncode, end.stderr), (1, "HOME is not set; set it to your home directory\n"))


class Debian12(Installing, unittest.TestCase):
    tree = "KIST_DEBIAN_12"


class Debian13(Installing, unittest.TestCase):
    tree = "KIST_DEBIAN_13"


if __name__ == "__main__":
    unittest.main()
