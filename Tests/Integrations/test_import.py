"""Imports of files written by the tools themselves, which then work with kist instead of the files."""

import json
import unittest

from servers import basic, crates, registry
from test_cargo import cargo_folder
from world import IntegrationTest, needs


class Import(IntegrationTest):
    def import_(self, *words):
        """Imports, and checks that a second import changes nothing."""
        self.run_("kist", "import", *words, "--yes")
        before = self.run_("kist", "list").stdout
        states = [line.split("\t")[0] for line in self.run_("kist", "import", *words, "--yes").stdout.splitlines()]
        self.assertEqual(set(states), {"same"})
        self.assertEqual(self.run_("kist", "list").stdout, before)

    def test_passwords_of_git_credential_store(self):
        """Some contain characters that a URL must encode."""
        asked = "protocol=https\nhost=git.example:8443\n"
        for user, password in [("alice", "hunter2"), ("b@ob", "p/w %:#ü")]:
            self.run_("git", "credential-store", "store", input=f"{asked}username={user}\npassword={password}\n")
        self.import_("git-credentials")
        (self.world.home / ".git-credentials").unlink()
        self.run_("kist", "setup", "git", "--apply")
        for user, password in [("alice", "hunter2"), ("b@ob", "p/w %:#ü")]:
            filled = self.run_("git", "credential", "fill", input=f"{asked}username={user}\n").stdout
            self.assertIn(f"\npassword={password}\n", filled)

    @needs("docker", "(docker-cli, or docker.io)")
    def test_a_login_in_the_file_of_docker(self):
        server = registry({basic("alice", "hunter2")})
        self.addCleanup(server.close)
        place = f"127.0.0.1:{server.port}"
        self.run_("docker", "login", "-u", "alice", "--password-stdin", place, input="hunter2",
                  PATH=self.world.path_of_only("docker"))
        config = self.world.home / ".docker" / "config.json"
        self.assertIn("auth", json.loads(config.read_text())["auths"][place])
        self.import_("docker")
        config.unlink()
        config.write_text(self.run_("kist", "setup", "docker").stdout)
        self.run_("docker", "manifest", "inspect", "--insecure", place + "/box:1")
        self.assertEqual(server.seen[-1][2], basic("alice", "hunter2"))

    @needs("cargo-1.74", "(cargo, 1.74 or newer)", where=cargo_folder())
    def test_logins_in_the_file_of_cargo(self):
        """One is for a configured registry, one for crates.io."""
        server = crates({"cio-token"})
        self.addCleanup(server.close)
        index = f"sparse+http://127.0.0.1:{server.port}/index/"
        cargo, folder = str(cargo_folder() / "cargo"), self.world.home / ".cargo"
        folder.mkdir()
        registries = f'[registries.priv]\nindex = "{index}"\n'
        (folder / "config.toml").write_text('registry.global-credential-providers = ["cargo:token"]\n' + registries)
        self.world.env["PATH"] += f":{cargo_folder()}"
        self.run_(cargo, "login", "--registry", "priv", input="cio-token\n")
        credentials = folder / "credentials.toml"
        credentials.write_text(credentials.read_text() + '\n[registry]\ntoken = "crates"\n')
        self.import_("cargo")
        credentials.unlink()
        (folder / "config.toml").write_text(self.run_("kist", "setup", "cargo").stdout + registries)
        self.run_(cargo, "yank", "--registry", "priv", "--version", "1.0.0", "thing")
        # kist stores it under the URL that cargo uses.
        self.run_(cargo, "logout")
        self.assertEqual(self.world.credentials(), [("cargo:" + index, "")])

    @needs("aws", "(awscli of PyPI)")
    def test_a_key_in_the_file_of_aws(self):
        for name, value in [("aws_access_key_id", "AKIA1"), ("aws_secret_access_key", "s/e=c"),
                            ("aws_session_token", "t=="), ("region", "eu-central-1")]:
            self.run_("aws", "configure", "set", name, value, "--profile", "prod")
        self.import_("aws")
        process = json.loads(self.run_("kist", "helper", "aws", "prod").stdout)
        self.assertEqual(
            (process["AccessKeyId"], process["SecretAccessKey"], process["SessionToken"]), ("AKIA1", "s/e=c", "t=="))

    @needs("keepassxc-cli", "(keepassxc of Debian)")
    def test_an_export_of_keepassxc(self):
        """It contains quotes, commas, and a note with several lines."""
        self.run_("keepassxc-cli", "db-create", "--set-password", "db.kdbx", input="pw\npw\n")
        self.run_(
            "keepassxc-cli", "add", "--quiet", "--username", "alice", "--url", "https://git.example/login",
            "--notes", 'two\nlines, "quoted"', "--password-prompt", "db.kdbx", "Git, my own",
            input='pw\nhun"ter,2\n')
        export = self.run_("keepassxc-cli", "export", "--quiet", "--format", "csv", "db.kdbx", input="pw\n").stdout
        (self.world.home / "export.csv").write_text(export)
        self.import_("keepassxc", "export.csv")
        self.assertEqual(self.run_("kist", "load", "git.example", "alice").stdout, 'hun"ter,2')
        self.assertIn("not imported: notes (1, in line ", self.run_("kist", "import", "keepassxc", "export.csv", "--dry-run").stderr)


class ImportFromKeyring(IntegrationTest):
    keyring = True

    @needs("secret-tool", "(libsecret-tools of Debian)")
    def test_an_import_into_the_same_keyring(self):
        """kist stores credentials in the keyring that it imports from, next to the items of other programs."""
        self.run_(
            "secret-tool", "store", "--label=x", "xdg:schema", "io.docker.Credentials", "server", "ghcr.io",
            "username", "bob", "docker_cli", "1", input="p")
        self.run_("kist", "import", "keyring", "--yes")
        self.assertEqual(self.run_("docker-credential-kist", "list").stdout, '{"ghcr.io":"bob"}\n')
        self.assertTrue(self.run_("kist", "import", "keyring", "--yes").stdout.startswith("same\t"))

    def test_an_item_of_the_python_keyring_library(self):
        self.world.env["PYTHON_KEYRING_BACKEND"] = "keyring.backends.SecretService.Keyring"
        stored = "import keyring; keyring.set_password('pypi', 'bob', 'p w')"
        self.run_("python", "-c", stored)
        shown = self.run_("kist", "import", "keyring", "--yes").stdout
        self.assertEqual(shown, "new\tpypi\tbob\tPassword for 'bob' on 'pypi'\n")
        self.assertEqual(self.run_("kist", "load", "pypi", "bob").stdout, "p w")


if __name__ == "__main__":
    unittest.main()
