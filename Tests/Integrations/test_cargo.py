"""cargo, with kist as its credential provider."""

import os
import pty
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from servers import crates
from world import IntegrationTest, needs


def cargo_folder():
    """Returns the folder of a cargo with credential providers (1.74 or newer), if any; rustup's cargo is only a link."""
    cargo = shutil.which("cargo")
    if cargo and shutil.which("rustup"):
        cargo = subprocess.run(["rustup", "which", "cargo"], capture_output=True, text=True).stdout.strip() or cargo
    if not cargo:
        return None
    version = subprocess.run([cargo, "--version"], capture_output=True, text=True).stdout
    found = re.match(r"cargo (\d+)\.(\d+)", version)
    return Path(cargo).parent if found and (int(found[1]), int(found[2])) >= (1, 74) else None


@needs("cargo-1.74", "(cargo, 1.74 or newer)", where=cargo_folder())
class Cargo(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.server = crates({"cio-token"})
        self.addCleanup(self.server.close)
        self.index = f"sparse+http://127.0.0.1:{self.server.port}/index/"
        self.service = "cargo:" + self.index
        self.world.env["PATH"] += f":{cargo_folder()}"
        folder = self.world.home / ".cargo"
        folder.mkdir()
        line = self.run_("kist", "setup", "cargo").stdout
        (folder / "config.toml").write_text(line + f'[registries.priv]\nindex = "{self.index}"\n')
        package = self.world.home / "package"
        (package / "src").mkdir(parents=True)
        (package / "src" / "lib.rs").touch()
        (package / "Cargo.toml").write_text(
            '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n'
            '[dependencies]\nthing = { version = "1", registry = "priv" }\n')

    def cargo(self, *words, **options):
        return self.run_(str(cargo_folder() / "cargo"), *words, **options)

    def login(self, **options):
        return self.cargo("login", "--registry", "priv", input="cio-token\n", **options)

    def logout(self, **options):
        return self.cargo("logout", "--registry", "priv", **options)

    def read(self, **options):
        shutil.rmtree(self.world.home / ".cargo" / "registry", ignore_errors=True)
        lock = self.world.home / "package" / "Cargo.lock"
        lock.unlink(missing_ok=True)
        return self.cargo("generate-lockfile", "--manifest-path", "package/Cargo.toml", **options)

    def yank(self, **options):
        return self.cargo("yank", "--registry", "priv", "--version", "1.0.0", "thing", **options)

    def test_a_login_is_only_in_kist_until_the_logout(self):
        """The token works for reading and writing, and the logout deletes it."""
        self.read(fails=True)
        self.login()
        self.assertEqual(self.world.credentials(), [(self.service, "")])
        self.assertEqual(self.run_("kist", "load", self.service).stdout, "cio-token")
        self.assertFalse((self.world.home / ".cargo" / "credentials.toml").exists())
        self.read()
        self.yank()
        self.logout()
        self.assertEqual(self.world.credentials(), [])
        self.assertIn("not currently logged in", self.logout().stderr)
        self.assertIn("no token found", self.read(fails=True).stderr)

    def test_a_typed_token_is_not_shown(self):
        """At a terminal, kist prompts for the token."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.world.home)
            os.execve(cargo_folder() / "cargo", ["cargo", "login", "--registry", "priv"], self.world.env)
        shown = b""
        while b"Token, from http://127.0.0.1/me: " not in shown:
            shown += os.read(terminal, 1000)
        os.write(terminal, b"cio-token\n")
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertNotIn(b"cio-token", os.read(terminal, 1000))
        os.close(terminal)
        self.read()

    def test_a_provider_works_under_another_name(self):
        """cargo tells its provider by an argument that it is one."""
        config = self.world.home / ".cargo" / "config.toml"
        config.write_text(config.read_text().replace("cargo-credential-kist", "kist"))
        self.login()
        self.read()

    def test_an_expired_token_is_not_used(self):
        self.run_("kist", "save", self.service, "--expires-in", "1h", input="cio-token")
        self.read()
        self.run_("kist", "save", self.service, "--expires-at", "2020-01-01T00:00:00Z", input="cio-token")
        self.assertIn("no token found", self.read(fails=True).stderr)

    def test_cargo_reports_a_locked_or_missing_kistd(self):
        self.login()
        for reason in self.world.while_unavailable():
            for use in [self.read, self.logout, self.login]:
                self.assertIn(reason, use(fails=True).stderr)
        self.read()


if __name__ == "__main__":
    unittest.main()
