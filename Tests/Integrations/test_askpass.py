"""ssh-add and git, with kist as their askpass program."""

import unittest

from servers import basic, git_server
from world import IntegrationTest, needs


@needs("ssh-add", "(openssh-client of Debian)")
class Askpass(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.env = {
            "SSH_ASKPASS": "kist-askpass", "SSH_ASKPASS_REQUIRE": "force", "KIST_ASKPASS": "kist://ssh/k",
            "SSH_AUTH_SOCK": str(self.world.home / "agent")}
        self.world.start("ssh-agent", "-D", "-a", self.env["SSH_AUTH_SOCK"])
        self.world.wait("the agent listens", (self.world.home / "agent").exists)
        self.run_("ssh-keygen", "-q", "-t", "ed25519", "-N", "hunter2", "-f", "k")

    def add(self, *words, fails=False, **env):
        return self.run_("ssh-add", *words, "k", fails=fails, **self.env | env)

    def keys(self):
        return self.run_("ssh-add", "-l", fails=None, **self.env).stdout.count("ED25519")

    def test_the_named_passphrase_opens_the_key_until_it_is_deleted(self):
        self.assertIn("no such credential", self.add(fails=True).stderr)
        self.run_("kist", "save", "ssh", "k", input="hunter2\n")
        self.add()
        self.assertEqual(self.keys(), 1)
        self.run_("ssh-add", "-D", **self.env)
        self.run_("kist", "delete", "ssh", "k")
        self.add(fails=True)
        self.assertEqual(self.keys(), 0)

    def test_without_a_reference_the_error_names_the_variable(self):
        self.run_("kist", "save", "ssh", "k", input="hunter2")
        self.assertIn("KIST_ASKPASS", self.add(fails=True, KIST_ASKPASS="").stderr)

    def test_a_confirmation_for_the_agent_is_refused(self):
        self.run_("kist", "save", "ssh", "k", input="hunter2")
        self.world.env |= self.env
        agent = str(self.world.home / "asking-agent")
        self.world.start("ssh-agent", "-D", "-a", agent)
        self.world.wait("the agent listens", (self.world.home / "asking-agent").exists)
        self.add("-c", SSH_AUTH_SOCK=agent)
        (self.world.home / "text").write_text("text")
        self.run_(
            "ssh-keygen", "-Y", "sign", "-n", "file", "-f", "k.pub", "text", fails=True, SSH_AUTH_SOCK=agent)
        self.assertFalse((self.world.home / "text.sig").exists())

    def test_ssh_add_reports_a_locked_or_missing_kistd(self):
        self.run_("kist", "save", "ssh", "k", input="hunter2")
        for reason in self.world.while_unavailable():
            self.assertIn(reason, self.add(fails=True).stderr)
        self.add()

    def test_git_gets_the_user_and_the_password(self):
        """git gets the account of the reference as the user, and the secret as the password."""
        self.run_("git", "init", "--bare", "srv/repo.git")
        server = git_server(self.world.home / "srv", {basic("alice", "hunter2")})
        self.addCleanup(server.close)
        url = f"http://127.0.0.1:{server.port}/repo.git"
        env = {"GIT_ASKPASS": "kist-askpass", "GIT_TERMINAL_PROMPT": "0", "KIST_ASKPASS": "kist://git/alice"}
        self.run_("git", "ls-remote", url, fails=True, **env)
        self.run_("kist", "save", "git", "alice", input="hunter2")
        self.run_("git", "ls-remote", url, **env)


if __name__ == "__main__":
    unittest.main()
