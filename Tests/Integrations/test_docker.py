"""docker, skopeo and podman, with kist as their credential helper."""

import json
import re
import unittest
from pathlib import Path

from servers import basic, registry
from world import IntegrationTest, needs

PAGE = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text()
MISSING = "credentials not found in native keychain"


class RegistryTest(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.server = registry({basic("alice", "hunter2"), basic("bob", "swordfish")})
        self.addCleanup(self.server.close)
        self.registry = f"127.0.0.1:{self.server.port}"
        self.image = self.registry + "/box:1"

    def helper(self, action, input="", fails=False):
        return self.run_("docker-credential-kist", action, input=input, fails=fails).stdout

    def used(self):
        """Returns the authorization of the last request."""
        return self.server.seen[-1][2]


@needs("docker", "(docker-cli, or docker.io)")
class Docker(RegistryTest):
    def setUp(self):
        super().setUp()
        self.config = self.world.home / ".docker" / "config.json"
        self.config.parent.mkdir()
        self.config.write_text(self.run_("kist", "setup", "docker").stdout)

    def login(self, user="alice", password="hunter2", **options):
        return self.run_("docker", "login", "-u", user, "--password-stdin", self.registry, input=password, **options)

    def inspect(self, **options):
        """Fetches the manifest of an image, for which docker needs no daemon."""
        return self.run_("docker", "manifest", "inspect", "--insecure", self.image, **options)

    def test_a_login_is_only_in_kist_until_the_logout(self):
        self.inspect(fails=True)
        self.login()
        self.assertEqual(self.world.credentials(), [(self.registry, "alice")])
        self.assertEqual(self.run_("kist", "load", self.registry, "alice").stdout, "hunter2")
        self.assertEqual(json.loads(self.config.read_text())["auths"], {self.registry: {}})
        self.inspect()
        self.assertEqual(self.used(), basic("alice", "hunter2"))
        self.run_("docker", "logout", self.registry)
        self.assertEqual(self.world.credentials(), [])
        self.inspect(fails=True)
        self.run_("docker", "logout", self.registry)

    def test_setup_apply_adds_one_member_to_the_configuration(self):
        """It keeps all other bytes, reports logins in plain text, and then changes nothing more."""
        rest = '\n  "auths": {"old.example": {"auth": "dTpw"}},\n  "HttpHeaders": {"x":  "y"}\n}\n'
        self.config.write_text("{" + rest)
        self.assertIn("logins in plain text", self.run_("kist", "setup", "docker", "--apply").stderr)
        self.assertEqual(self.config.read_text(), '{\n\t"credsStore": "kist",' + rest)
        self.assertIn("already asks kist", self.run_("kist", "setup", "docker", "--apply").stderr)
        self.login()
        self.assertEqual(self.world.credentials(), [(self.registry, "alice")])
        self.inspect()
        self.assertEqual(self.used(), basic("alice", "hunter2"))

    def test_setup_prints_lines_to_copy_into_a_new_and_into_an_existing_configuration(self):
        def line():
            return self.run_("kist", "setup", "docker").stdout.splitlines()[0]

        self.config.unlink()
        self.assertEqual(json.loads(line()), {"credsStore": "kist"})
        self.config.write_text('{"HttpHeaders": {"x": "y"}}')
        self.config.write_text("{" + line() + self.config.read_text()[1:])
        self.assertEqual(json.loads(self.config.read_text()), {"credsStore": "kist", "HttpHeaders": {"x": "y"}})
        self.login()
        self.assertEqual(self.world.credentials(), [(self.registry, "alice")])

    def test_setup_apply_creates_the_configuration(self):
        self.config.unlink()
        self.config.parent.rmdir()
        self.run_("kist", "setup", "docker", "--apply")
        self.assertEqual(self.config.stat().st_mode & 0o777, 0o600)
        self.login()
        self.assertEqual(self.world.credentials(), [(self.registry, "alice")])

    def test_setup_apply_refuses_what_it_cannot_replace_safely(self):
        for text in ['{"auths": ', '{"credsStore": "pass"}']:
            self.config.write_text(text)
            self.assertEqual(self.run_("kist", "setup", "docker", "--apply", fails=True).stdout, "")
            self.assertEqual(self.config.read_text(), text)
        real = self.world.home / "real.json"
        self.config.rename(real)
        real.write_text("{}")
        self.config.symlink_to(real)
        self.assertIn("not a regular file", self.run_("kist", "setup", "docker", "--apply", fails=True).stderr)
        self.assertEqual(real.read_text(), "{}")

    def test_the_last_login_is_used_and_a_logout_deletes_both(self):
        self.login()
        self.login("bob", "swordfish")
        self.assertEqual(self.world.credentials(), [(self.registry, "alice"), (self.registry, "bob")])
        self.inspect()
        self.assertEqual(self.used(), basic("bob", "swordfish"))
        self.login()
        self.inspect()
        self.assertEqual(self.used(), basic("alice", "hunter2"))
        self.run_("docker", "logout", self.registry)
        self.assertEqual(self.world.credentials(), [])

    def test_a_credential_saved_by_hand_is_used_and_survives_a_logout(self):
        self.run_("kist", "save", self.registry, "alice", input="hunter2")
        self.inspect()
        self.run_("docker", "logout", self.registry)
        self.inspect()

    def test_a_wrong_password_is_not_stored(self):
        self.login(password="wrong", fails=True)
        self.assertEqual(self.world.credentials(), [])

    def test_docker_reports_a_locked_kistd_and_stores_nothing_elsewhere(self):
        self.login()
        self.run_("kist", "lock")
        end = self.login(fails=True)
        self.assertIn("is locked; unlock it with `kist unlock`", end.stdout + end.stderr)
        self.assertIn("locked", self.helper("get", self.registry, fails=True))
        self.assertNotIn("hunter2", self.config.read_text())
        if not self.keyring:
            self.run_("kist", "unlock")
            self.inspect()

    def test_docker_reports_a_missing_kistd(self):
        """The stored login remains usable afterwards."""
        self.login()
        self.world.stop_kistd()
        end = self.login(fails=True)
        self.assertIn("no kistd is listening", end.stdout + end.stderr)
        self.assertNotIn(MISSING, self.helper("get", self.registry, fails=True))
        self.world.start_kistd()
        self.inspect()


class DockerWithKeyring(Docker):
    keyring = True


@needs("skopeo")
class Skopeo(RegistryTest):
    def setUp(self):
        super().setUp()
        containers = self.world.home / ".config" / "containers"
        containers.mkdir(parents=True)
        (containers / "registries.conf").write_text('credential-helpers = ["kist"]\n')
        (containers / "policy.json").write_text('{"default":[{"type":"insecureAcceptAnything"}]}')

    def login(self, **options):
        return self.run_(
            "skopeo", "login", "--tls-verify=false", "-u", "alice", "--password-stdin", self.registry,
            input="hunter2", **options)

    def list_tags(self, **options):
        return self.run_("skopeo", "list-tags", "--tls-verify=false", f"docker://{self.registry}/box", **options)

    def test_a_login_is_used_until_the_logout(self):
        self.list_tags(fails=True)
        self.login()
        self.assertEqual(self.world.credentials(), [(self.registry, "alice")])
        self.list_tags()
        self.assertEqual(self.used(), basic("alice", "hunter2"))
        self.run_("skopeo", "logout", self.registry)
        self.assertEqual(self.world.credentials(), [])
        self.list_tags(fails=True)
        end = self.run_("skopeo", "logout", self.registry, fails=None)
        self.assertNotIn("goroutine", end.stderr)

    def test_skopeo_reports_a_locked_or_missing_kistd(self):
        self.login()
        for reason in self.world.while_unavailable():
            self.assertIn(reason, self.list_tags(fails=True).stderr)
        self.list_tags()


@needs("podman")
class Podman(RegistryTest):
    def setUp(self):
        super().setUp()
        containers = self.world.home / ".config" / "containers"
        (containers / "registries.conf.d").mkdir(parents=True)
        (line,) = re.findall("^credential-helpers = .*$", PAGE, re.M)
        (containers / "registries.conf.d" / "kist.conf").write_text(line)
        (containers / "policy.json").write_text('{"default":[{"type":"insecureAcceptAnything"}]}')
        images = self.world.home / "images"
        storage = self.world.home / "storage.conf"
        storage.write_text(f'[storage]\ndriver = "vfs"\ngraphroot = "{images}"\nrunroot = "{images}-run"\n')
        self.world.env["CONTAINERS_STORAGE_CONF"] = str(storage)

    def pull(self, **options):
        return self.run_("podman", "pull", "--tls-verify=false", self.image, **options)

    def test_a_login_is_used_until_the_logout(self):
        self.pull(fails=True)
        self.run_(
            "podman", "login", "--tls-verify=false", "-u", "alice", "--password-stdin", self.registry, input="hunter2")
        self.assertEqual(self.world.credentials(), [(self.registry, "alice")])
        for file in self.world.home.rglob("auth.json"):
            self.assertNotIn(basic("alice", "hunter2").split()[1], file.read_text())
        self.pull()
        self.assertEqual(self.used(), basic("alice", "hunter2"))
        self.run_("podman", "logout", self.registry)
        self.assertEqual(self.world.credentials(), [])
        self.pull(fails=True)

    def test_podman_uses_a_credential_saved_by_hand(self):
        self.run_("kist", "save", self.registry, "alice", input="hunter2")
        self.pull()
        self.assertEqual(self.used(), basic("alice", "hunter2"))


if __name__ == "__main__":
    unittest.main()
