"""git over HTTP, with kist as its credential helper."""

import atexit
import functools
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from servers import basic, git_server
from world import IntegrationTest, World


SUITE = str(Path(__file__).parent / "git-suite")


@functools.cache
def gits_tests():
    """Returns the file of git's own tests: GIT_TESTS, or the one for Debian's installed git."""
    if "GIT_TESTS" in os.environ:
        return os.environ["GIT_TESTS"]
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    file = folder.name + "/lib-credential.sh"
    subprocess.run(["sh", SUITE, "fetch", file], check=True)
    return file


class Git(IntegrationTest):
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
        """Runs git without a terminal; `typed` is the user and the password that its askpass program returns."""
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

    def test_a_typed_password_is_stored_and_used_until_it_is_rejected(self):
        """It serves clone and push."""
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

    def test_a_use_does_not_change_the_credential(self):
        """git stores a credential again after every use, but its label and revision stay the same."""
        self.run_("kist", "save", self.url, "alice", "--label", "mine", input="hunter2")
        before = self.run_("kist", "list", "--json").stdout
        self.clone()
        self.assertEqual(self.run_("kist", "list", "--json").stdout, before)

    def test_only_the_refused_password_is_deleted(self):
        self.run_("kist", "save", self.url, "alice", input="old")
        self.run_("kist", "save", self.url, "bob", input="swordfish")
        self.clone("alice", fails=True)
        self.assertEqual(self.world.credentials(), [(self.url, "bob")])
        self.clone(typed=("alice", "hunter2"))

    def test_a_credential_without_an_account_is_not_used_or_deleted(self):
        """git would send nothing and then delete it, so kist reports an error instead."""
        self.run_("kist", "save", self.url, input="hunter2")
        self.assertIn("no account", self.clone(fails=True).stderr)
        self.assertEqual(self.run_("kist", "load", self.url).stdout, "hunter2")

    def test_a_changed_password_is_not_deleted(self):
        """git rejects the old password after a new one was saved."""
        self.run_("kist", "save", self.url, "alice", input="new")
        self.reject(protocol="http", host=self.host, username="alice", password="old")
        self.assertEqual(self.run_("kist", "load", self.url, "alice").stdout, "new")

    def test_the_named_or_the_newest_user_is_used(self):
        self.clone(typed=("alice", "hunter2"))
        self.clone("bob", typed=("bob", "swordfish"))
        for user, password in [("alice", "hunter2"), ("bob", "swordfish"), ("", "swordfish")]:
            self.clone(user)
            self.assertEqual(self.server.seen[-1][2], basic(user or "bob", password))

    def test_each_repository_has_its_own_credential_with_use_http_path(self):
        self.run_("git", "config", "--global", "credential.useHttpPath", "true")
        self.clone(typed=("alice", "hunter2"))
        self.assertEqual(self.world.credentials(), [(self.url + "/repo.git", "alice")])
        self.clone()

    def test_git_reports_a_locked_kistd(self):
        """The stored password remains usable afterwards."""
        self.run_("kist", "save", self.url, "alice", input="hunter2")
        self.run_("kist", "lock")
        self.assertIn("locked", self.clone(fails=True).stderr)
        self.assertIn("locked", self.clone(typed=("alice", "hunter2")).stderr)
        if not self.keyring:
            self.run_("kist", "unlock")
            self.clone()

    def test_git_reports_a_missing_kistd(self):
        """The stored password remains usable afterwards."""
        self.run_("kist", "save", self.url, "alice", input="hunter2")
        self.world.stop_kistd()
        self.assertIn("no kistd is listening", self.clone(fails=True).stderr)
        self.world.start_kistd()
        self.clone()

    def fill(self, url):
        """Returns the user and the password that git gets for a URL, or None."""
        env = {"GIT_ASKPASS": "false", "GIT_TERMINAL_PROMPT": "0"}
        end = self.run_("git", "credential", "fill", input=f"url={url}\n", fails=None, **env)
        answer = dict(line.split("=", 1) for line in end.stdout.splitlines())
        return (answer["username"], answer["password"]) if end.returncode == 0 else None

    def test_the_bare_host_answers_for_https_only(self):
        """Not for another port, and after the exact name."""
        self.run_("kist", "save", "git.example", "alice", input="hunter2")
        self.assertEqual(self.fill("https://git.example"), ("alice", "hunter2"))
        self.assertEqual(self.fill("https://git.example/a/b.git"), ("alice", "hunter2"))
        for url in ["http://git.example", "https://git.example:8443", "https://www.git.example"]:
            self.assertIsNone(self.fill(url), url)
        self.run_("kist", "save", "https://git.example", "bob", input="swordfish")
        self.assertEqual(self.fill("https://git.example"), ("bob", "swordfish"))

    def test_a_confirmed_bare_host_stays_alone_and_only_its_password_is_rejected(self):
        self.run_("kist", "save", "git.example", "alice", input="hunter2")
        message = "protocol=https\nhost=git.example\nusername=alice\npassword="
        self.run_("git", "credential", "approve", input=message + "hunter2\n")
        self.assertEqual(self.world.credentials(), [("git.example", "alice")])
        self.reject(protocol="https", host="git.example")
        self.reject(protocol="https", host="git.example", username="alice", password="other")
        self.assertEqual(self.fill("https://git.example"), ("alice", "hunter2"))
        self.run_("git", "credential", "approve", input=message + "new\n")
        self.assertEqual(self.fill("https://git.example"), ("alice", "new"))
        self.assertEqual(self.run_("kist", "load", "git.example", "alice").stdout, "hunter2")
        self.reject(protocol="https", host="git.example", username="alice", password="new")
        self.reject(protocol="https", host="git.example", username="alice", password="hunter2")
        self.assertEqual(self.world.credentials(), [])

    def test_git_finds_what_was_imported_from_netrc_and_browsers(self):
        """A second import changes nothing."""
        home = self.world.home
        (home / ".netrc").write_text("machine n.example login alice password one\n")
        (home / "chrome.csv").write_text(
            "name,url,username,password\nC,https://c.example/login,bob,two\n")
        (home / "firefox.csv").write_text(
            '"url","username","password"\n"https://f.example","carol","three"\n')
        sources = [["netrc"], ["chrome", "chrome.csv"], ["firefox", "firefox.csv"]]
        for source in sources:
            self.run_("kist", "import", *source, "--yes")
        for host, user, password in [("n", "alice", "one"), ("c", "bob", "two"), ("f", "carol", "three")]:
            self.assertEqual(self.fill(f"https://{host}.example"), (user, password))
            self.assertIsNone(self.fill(f"http://{host}.example"))
        before = self.run_("kist", "list", "--json").stdout
        for source in sources:
            self.run_("kist", "import", *source, "--yes")
        self.assertEqual(self.run_("kist", "list", "--json").stdout, before)

    def test_git_finds_an_imported_host_without_a_full_stop_once_it_has_the_name_that_git_uses(self):
        """The commands are those of docs/names.md."""
        (self.world.home / ".netrc").write_text("machine gitserver login alice password one\n")
        self.run_("kist", "import", "netrc", "--yes")
        self.assertIsNone(self.fill("https://gitserver"))
        page = (Path(__file__).parents[2] / "docs" / "names.md").read_text()
        commands = re.search(r"^```\n(kist load gitserver .*?)^```$", page, re.M | re.S)[1]
        self.run_("sh", "-e", "-c", commands)
        self.assertEqual(self.fill("https://gitserver"), ("alice", "one"))
        self.assertEqual(self.world.credentials(), [("https://gitserver", "alice")])

    def test_git_does_not_get_a_secret_of_two_lines(self):
        """kist reports the reason."""
        self.run_("kist", "save", self.url, "alice", input="hunter2\nhost=evil.example\n")
        self.assertIn("line break", self.clone(fails=True).stderr)

    def test_the_credential_tests_of_git_pass(self):
        """They are from the source of the installed version."""
        end = self.run_("sh", SUITE, "run", gits_tests(), "kist")
        lines = end.stdout.splitlines()
        self.assertGreater(len(lines), 10)
        self.assertEqual([line for line in lines if not line.startswith("ok")], [])


class GitWithKeyring(Git):
    keyring = True


if __name__ == "__main__":
    unittest.main()
