"""Programs that want a keyring, with kist-secret-service as the keyring."""

import json
import select
import shutil
import subprocess
import tempfile
from pathlib import Path

from secret_service import ServiceTest, imports
from world import needs

HERE = Path(__file__).parent
GIT_SOURCES = Path("/usr/share/doc/git/contrib/credential/libsecret")
LIBSECRET = Path("/usr/include/libsecret-1")


class Round:
    """What holds for each program: it saves, loads, replaces and deletes a secret, and kist shows the same one.

    A test class defines `save(secret)`, `load()` and `delete()`, which run the program and return the finished process;
    `secret(end)`, which finds the secret in the output of `load()`, or returns None; and `name`, the service and the
    account in kist.
    """

    def loaded(self):
        end = self.load()
        found = self.secret(end)
        self.assertEqual(end.returncode == 0, found is not None, f"{end}")
        return found

    def saved(self, secret):
        end = self.save(secret)
        self.assertEqual(end.returncode, 0, f"{end}")

    def assert_kist_has(self, secret):
        self.assertEqual(self.world.credentials(), [self.name])
        self.assertEqual(self.world.load(*self.name), secret)

    def test_saves_loads_replaces_and_deletes_a_secret(self):
        self.assertIsNone(self.loaded())
        self.saved("hunter2")
        self.assertEqual(self.loaded(), "hunter2")
        self.assert_kist_has("hunter2")
        self.saved("swordfish")
        self.assertEqual(self.loaded(), "swordfish")
        self.assert_kist_has("swordfish")
        end = self.delete()
        self.assertEqual(end.returncode, 0, f"{end}")
        self.assertIsNone(self.loaded())
        self.assertEqual(self.world.credentials(), [])

    def test_finds_the_secret_after_a_restart(self):
        """Also with kistd or kist-secret-service restarted alone, and a secret that kist replaced."""
        self.saved("hunter2")
        self.world.restart()
        self.assertEqual(self.loaded(), "hunter2")
        self.world.stop_kistd()
        self.world.start_kistd()
        self.assertEqual(self.loaded(), "hunter2")
        self.world.stop_service()
        self.run_("kist", "save", *self.name, input="swordfish")
        self.assertEqual(self.loaded(), "swordfish")

    def test_fails_while_kist_is_locked_and_loses_nothing(self):
        """kistd does not report a lock, so the first call may find an item that cannot be read, and give another reason."""
        self.saved("hunter2")
        self.world.lock()
        self.assertNotEqual(self.load().returncode, 0)
        for use in [self.load, lambda: self.save("swordfish"), self.delete]:
            end = use()
            self.assertNotEqual(end.returncode, 0, f"{end}")
            self.assertIn("lock", end.stdout + end.stderr)
        self.world.unlock()
        self.assert_kist_has("hunter2")
        self.assertEqual(self.loaded(), "hunter2")


@needs("secret-tool")
class SecretTool(Round, ServiceTest):
    name = ("example.org", "alice")
    words = ["service", "example.org", "username", "alice"]

    def save(self, secret):
        return self.run_("secret-tool", "store", "--label=My token", *self.words, input=secret, fails=None)

    def load(self):
        return self.run_("secret-tool", "lookup", *self.words, fails=None)

    def secret(self, end):
        return end.stdout or None

    def delete(self):
        return self.run_("secret-tool", "clear", *self.words, fails=None)

    def test_searches_what_kist_saved(self):
        self.run_("kist", "save", "a.example", "bob", "--label", "Mine", input="hunter2")
        end = self.run_("secret-tool", "search", "--all", "xdg:schema", "io.kist.Credential")
        self.assertIn("label = Mine\nsecret = hunter2\n", end.stdout)
        self.assertIn("attribute.account = bob", end.stderr)

    def test_an_item_without_a_known_name_is_found_by_its_attributes(self):
        self.run_("secret-tool", "store", "--label=Door", "place", "home", input="1234")
        self.assertEqual(self.world.load("--attribute", "place=home"), "1234")


@needs("the sources of git-credential-libsecret", "(git)", where=GIT_SOURCES.is_dir())
@needs("the header files of libsecret", "(libsecret-1-dev)", where=LIBSECRET.is_dir())
class GitCredentialLibsecret(Round, ServiceTest):
    name = ("https://git.example", "alice")
    message = "protocol=https\nhost=git.example\nusername=alice\n"

    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, folder)
        for source in GIT_SOURCES.iterdir():
            shutil.copy(source, folder)
        subprocess.run(["make", "--quiet", "-C", folder, "CFLAGS=-w"], check=True)
        cls.helper = folder + "/git-credential-libsecret"

    def setUp(self):
        super().setUp()
        self.run_("git", "config", "--global", "credential.helper", self.helper)

    def git(self, action, more=""):
        env = {"GIT_ASKPASS": "false", "GIT_TERMINAL_PROMPT": "0"}
        return self.run_("git", "credential", action, input=self.message + more, fails=None, **env)

    def save(self, secret):
        # git ignores the status of a helper that stores or erases.
        return self.run_(self.helper, "store", input=self.message + f"password={secret}\n", fails=None)

    def load(self):
        return self.git("fill")

    def secret(self, end):
        return dict(line.split("=", 1) for line in end.stdout.splitlines()).get("password")

    def delete(self):
        return self.run_(self.helper, "erase", input=self.message, fails=None)

    def test_shares_a_password_with_the_helper_of_kist(self):
        self.git("approve", "password=hunter2\n")
        self.run_("git", "config", "--global", "credential.helper", "kist")
        self.assertEqual(self.secret(self.load()), "hunter2")
        self.git("reject")
        self.assertEqual(self.world.credentials(), [])


@needs("docker-credential-secretservice", "(golang-docker-credential-helpers)")
class DockerCredentialSecretservice(Round, ServiceTest):
    name = ("https://registry.example", "alice")

    def helper(self, action, input=""):
        return self.run_("docker-credential-secretservice", action, input=input, fails=None)

    def save(self, secret):
        return self.helper("store", json.dumps({"ServerURL": self.name[0], "Username": self.name[1], "Secret": secret}))

    def load(self):
        return self.helper("get", self.name[0])

    def secret(self, end):
        return json.loads(end.stdout)["Secret"] if end.returncode == 0 else None

    def delete(self):
        return self.helper("erase", self.name[0])

    def test_lists_its_logins(self):
        self.saved("hunter2")
        self.assertEqual(json.loads(self.helper("list").stdout), {self.name[0]: self.name[1]})


@needs("Python's keyring", where=imports("keyring", "secretstorage"))
class PythonKeyring(Round, ServiceTest):
    name = ("example.org", "alice")
    backend = "keyring.backends.SecretService.Keyring"

    def keyring(self, action, input=""):
        return self.run_(
            "python", "-m", "keyring", action, *self.name, input=input, fails=None,
            PYTHON_KEYRING_BACKEND=self.backend)

    def save(self, secret):
        # keyring drops the newline. Without it, keyring 23 drops the whole secret.
        return self.keyring("set", secret + "\n")

    def load(self):
        return self.keyring("get")

    def secret(self, end):
        return end.stdout.rstrip("\n") or None

    def delete(self):
        return self.keyring("del")


@needs("Python's jeepney", where=imports("jeepney"))
class GoKeyring(Round, ServiceTest):
    """The calls of go-keyring, which gh uses since its version 2.24; Debian has no package of go-keyring."""

    name = ("gh:github.com", "alice")

    def call(self, action, input=""):
        return self.run_("python", HERE / "go_keyring.py", action, *self.name, input=input, fails=None)

    def save(self, secret):
        return self.call("set", secret)

    def load(self):
        return self.call("get")

    def secret(self, end):
        return end.stdout or None

    def delete(self):
        return self.call("delete")


@needs("the header files of libsecret", "(libsecret-1-dev)", where=LIBSECRET.is_dir())
class LibsecretCaches(ServiceTest):
    """A program that reads the items from libsecret's caches, which only signals keep up to date."""

    def setUp(self):
        super().setUp()
        program = self.world.home / "cache"
        flags = subprocess.check_output(["pkg-config", "--cflags", "--libs", "libsecret-1"], text=True).split()
        subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-o", program, HERE / "libsecret_cache.c", *flags], check=True)
        self.watch = subprocess.Popen(
            [program], env=self.world.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.addCleanup(self.watch.communicate)
        self.addCleanup(self.watch.terminate)

    def assert_prints(self, line):
        """Checks the next change, or a later one: a change may be visible in steps."""
        printed = []
        while line not in printed:
            ready, _, _ = select.select([self.watch.stdout], [], [], 30)
            self.assertTrue(ready, f"not in time: {line}; printed: {printed}")
            printed.append(self.watch.stdout.readline().decode().rstrip("\n"))
            self.assertIsNone(self.watch.poll(), "the program ended")

    def test_follow_what_kist_and_other_programs_change(self):
        self.assert_prints("unlocked")
        self.run_("kist", "save", "a.example", "alice", "--label", "one", input="hunter2")
        self.assert_prints("unlocked one")
        self.run_("secret-tool", "store", "--label=two", "service", "b.example", "username", "bob", input="swordfish")
        self.assert_prints("unlocked one two")
        self.run_("kist", "save", "b.example", "bob", "--label", "three", input="swordfish")
        self.assert_prints("unlocked one three")
        self.run_("kist", "delete", "a.example", "alice")
        self.assert_prints("unlocked three")
        self.run_("secret-tool", "clear", "service", "b.example")
        self.assert_prints("unlocked")

    def test_follow_a_lock(self):
        """kistd does not report a lock, so kist-secret-service notices it at the next call."""
        self.run_("kist", "save", "a.example", "alice", "--label", "one", input="hunter2")
        self.assert_prints("unlocked one")
        self.world.lock()
        self.run_("secret-tool", "lookup", "service", "a.example", fails=True)
        self.assert_prints("locked")
        self.world.unlock()
        self.assert_prints("unlocked one")

    def test_follow_a_restart_of_kistd(self):
        self.run_("kist", "save", "a.example", "alice", "--label", "one", input="hunter2")
        self.assert_prints("unlocked one")
        self.world.stop_kistd()
        self.world.start_kistd()
        self.run_("kist", "save", "b.example", "bob", "--label", "two", input="hunter2")
        self.assert_prints("unlocked one two")
