"""Tools that get a secret from kist by their own configuration, with the commands of docs/tools.md."""

import re
import unittest
from pathlib import Path

from servers import Server, basic
from world import IntegrationTest, needs

PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text()


def documented(tool):
    """Returns the blocks of commands in the section of a tool."""
    section = PAGE.split(f"\n## {tool}\n")[1].split("\n## ")[0]
    return re.findall("^```\n(.*?)^```$", section, re.M | re.S)


class ToolTest(IntegrationTest):
    def save(self, service, account, secret="hunter2"):
        self.run_("kist", "save", service, account, input=secret)

    def shell(self, commands, **options):
        return self.run_("bash", "-e", "-c", commands, **options)


class Passwords(ToolTest):
    @needs("restic")
    def test_restic_opens_its_repository_only_with_the_stored_password(self):
        self.shell(documented("restic")[0], fails=True)
        self.save("restic", "home")
        self.shell(documented("restic")[0])
        self.run_("restic", "snapshots", "--repo", "backup", RESTIC_PASSWORD="hunter2")
        self.run_("restic", "snapshots", "--repo", "backup", RESTIC_PASSWORD="wrong", fails=True)

    @needs("borg")
    def test_borg_opens_its_repository_only_with_the_stored_password(self):
        self.shell(documented("borg")[0].replace("./backup", "./without"), fails=True)
        self.save("borg", "home")
        self.shell(documented("borg")[0])
        self.run_("borg", "list", "backup", BORG_PASSPHRASE="hunter2")
        self.run_("borg", "list", "backup", BORG_PASSPHRASE="wrong", fails=True)

    @needs("ansible-vault", "(ansible-core)")
    def test_ansible_vault_encrypts_with_the_stored_password(self):
        secrets = self.world.home / "secrets.yml"
        secrets.write_text("key: value\n")
        self.shell(documented("ansible-vault")[0], fails=True)
        self.save("ansible-vault", "prod")
        self.shell(documented("ansible-vault")[0])
        self.assertIn("$ANSIBLE_VAULT", secrets.read_text())
        (self.world.home / "same").write_text("hunter2")
        opened = self.run_("ansible-vault", "view", "--vault-password-file", "same", "secrets.yml")
        self.assertEqual(opened.stdout.strip(), "key: value")


class Requests(ToolTest):
    def setUp(self):
        super().setUp()
        answer = lambda handler, _: handler.reply(200, b'{"login":"alice","username":"alice"}')
        allowed = {"Bearer hunter2", "token hunter2", basic("alice", "hunter2")}
        self.server = Server(answer, allowed, 'Basic realm="api"')
        self.addCleanup(self.server.close)
        self.here = f"127.0.0.1:{self.server.port}"

    @needs("curl")
    def test_curl_sends_the_stored_token(self):
        command = documented("curl")[0].replace("https://api.example/", f"http://{self.here}/")
        self.shell(command, fails=True)
        self.save("https://api.example", "alice")
        self.assertIn("alice", self.shell(command).stdout)

    @needs("wget")
    def test_wget_sends_the_account_and_the_stored_password(self):
        command = documented("wget")[0].replace("https://api.example/", f"http://{self.here}/")
        self.shell(command, fails=True)
        self.save("api.example", "alice")
        self.shell(command)
        self.assertIn("alice", (self.world.home / "me").read_text())

    @needs("npm")
    def test_npm_sends_the_stored_token(self):
        line, command = documented("npm")
        (self.world.home / ".npmrc").write_text(
            f"registry=http://{self.here}/\n" + line.replace("registry.example", self.here))
        self.shell(command, fails=True)
        self.save("npm", "alice")
        self.assertEqual(self.shell(command).stdout.strip(), "alice")

    @needs("gh")
    def test_gh_sends_the_stored_token(self):
        options = {"GH_HOST": "github.localhost", "HTTP_PROXY": f"http://{self.here}"}
        self.shell(documented("gh")[0], fails=True, **options)
        self.save("github.com", "alice")
        self.assertIn("alice", self.shell(documented("gh")[0], **options).stdout)


if __name__ == "__main__":
    unittest.main()
