"""git over HTTP, with kist as its credential helper."""

import atexit
import functools
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from servers import basic, git_server
from world import InAWorld, World


SUITE = str(Path(__file__).parent / "git-suite")


@functools.cache
def gits_tests():
    """The file of git's own tests: the one that GIT_TESTS names, or Debian's for the installed git."""
    if "GIT_TESTS" in os.environ:
        return os.environ["GIT_TESTS"]
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    file = folder.name + "/lib-credential.sh"
    subprocess.run(["sh", SUITE, "fetch", file], check=True)
    return file


class Git(InAWorld):
    def setUp(self):
        super().setUp()
        home = self.world.home
        self.run_("git", "config", "--global", "user.name", "Alice")
        self.run_("git", "config", "--global", "user.email", "alice@example.org")
        self.run_("git", "config", "--global", "init.defaultBranch", "main")
        self.run_("kist", "setup", "git", "--apply")
        self.run_("git", "init", "--bare", "srv/repo.git")
        self.run_("git", "-C", "srv/repo.git", "config", "http.receivepack", "true")
        self.server = git_server(home / "srv", {basic("alice", "hunter2"), basic("bob", "swordfish")})
        self.addCleanup(self.server.close)
        self.host = f"127.0.0.1:{self.server.port}"
        self.url = f"http://{self.host}"
        self.clones = 0

    def git(self, *words, typed=None, fails=False):
        """Runs git with a person who types a user and a password, or with none, and with no terminal."""
        askpass = self.world.home / "askpass"
        user, password = typed or ("", "")
        askpass.write_text(f'#!/bin/sh\ncase "$1" in User*) echo "{user}";; *) echo "{password}";; esac\n')
        askpass.chmod(0o700)
        env = {"GIT_ASKPASS": str(askpass) if typed else "false", "GIT_TERMINAL_PROMPT": "0"}
        return self.run_("git", *words, fails=fails, **env)

    def clone(self, user="", **options):
        self.clones += 1
        url = self.url.replace("//", f"//{user}@") if user else self.url
        return self.git("clone", url + "/repo.git", f"clone{self.clones}", **options)

    def reject(self, **attributes):
        self.run_("git", "credential", "reject", input="".join(f"{k}={v}\n" for k, v in attributes.items()))

    def test_a_round(self):
        """What is typed once is stored, serves clone and push, and is gone after a logout."""
        self.clone(fails=True)
        self.clone(typed=("alice", "hunter2"))
        self.assertEqual(self.world.credentials(), [(self.url, "alice")])
        self.assertEqual(self.run_("kist", "load", self.url, "alice").stdout, "hunter2")
        self.git("-C", "clone2", "commit", "--allow-empty", "-m", "first")
        self.git("-C", "clone2", "push", "origin", "main")
        self.clone()
        self.assertIn("first", self.git("-C", "clone3", "log").stdout)
        self.reject(protocol="http", host=self.host)
        self.assertEqual(self.world.credentials(), [])
        self.clone(fails=True)

    def test_a_use_changes_nothing(self):
        """Git confirms a credential after every use, which is no new save; its name stays."""
        self.run_("kist", "save", self.url, "alice", "--label", "mine", input="hunter2")
        before = self.run_("kist", "list", "--json").stdout
        self.clone()
        self.assertEqual(self.run_("kist", "list", "--json").stdout, before)

    def test_a_password_that_is_refused(self):
        """It is deleted, and only it."""
        self.run_("kist", "save", self.url, "alice", input="old")
        self.run_("kist", "save", self.url, "bob", input="swordfish")
        self.clone("alice", fails=True)
        self.assertEqual(self.world.credentials(), [(self.url, "bob")])
        self.clone(typed=("alice", "hunter2"))

    def test_a_token_without_a_user(self):
        """Git would send nothing, and delete it; so it is told why it gets nothing, and all stays."""
        self.run_("kist", "save", self.url, input="hunter2")
        self.assertIn("no account", self.clone(fails=True).stderr)
        self.assertEqual(self.run_("kist", "load", self.url).stdout, "hunter2")

    def test_a_password_that_was_changed_meanwhile(self):
        """It is not deleted for the one that was refused."""
        self.run_("kist", "save", self.url, "alice", input="new")
        self.reject(protocol="http", host=self.host, username="alice", password="old")
        self.assertEqual(self.run_("kist", "load", self.url, "alice").stdout, "new")

    def test_two_users(self):
        """Each is given who is asked for; none named, the newest."""
        self.clone(typed=("alice", "hunter2"))
        self.clone("bob", typed=("bob", "swordfish"))
        for user, password in [("alice", "hunter2"), ("bob", "swordfish"), ("", "swordfish")]:
            self.clone(user)
            self.assertEqual(self.server.seen[-1][2], basic(user or "bob", password))

    def test_a_path(self):
        """With credential.useHttpPath, each repository has its own."""
        self.run_("git", "config", "--global", "credential.useHttpPath", "true")
        self.clone(typed=("alice", "hunter2"))
        self.assertEqual(self.world.credentials(), [(self.url + "/repo.git", "alice")])
        self.clone()

    def test_locked(self):
        """Git says so, and what is stored stays."""
        self.run_("kist", "save", self.url, "alice", input="hunter2")
        self.run_("kist", "lock")
        self.assertIn("locked", self.clone(fails=True).stderr)
        self.assertIn("locked", self.clone(typed=("alice", "hunter2")).stderr)
        if not self.keyring:
            self.run_("kist", "unlock")
            self.clone()

    def test_unreachable(self):
        """Git says so, and what is stored stays."""
        self.run_("kist", "save", self.url, "alice", input="hunter2")
        self.world.stop_kistd()
        self.assertIn("no kistd is listening", self.clone(fails=True).stderr)
        self.world.start_kistd()
        self.clone()

    def test_a_secret_of_two_lines(self):
        """Git is not given it, and says why."""
        self.run_("kist", "save", self.url, "alice", input="hunter2\nhost=evil.example\n")
        self.assertIn("line break", self.clone(fails=True).stderr)

    def test_gits_own_suite(self):
        """Of git's own source, for the version that is installed."""
        end = self.run_("sh", SUITE, "run", gits_tests(), "kist")
        lines = end.stdout.splitlines()
        self.assertGreater(len(lines), 10)
        self.assertEqual([line for line in lines if not line.startswith("ok")], [])


class GitOnAKeyring(Git):
    keyring = True


if __name__ == "__main__":
    unittest.main()
