"""ssh-keygen, with a private key from kist."""

from world import IntegrationTest, needs


@needs("ssh-keygen", "(openssh-client of Debian)")
class SSHKey(IntegrationTest):
    def test_a_piped_key_is_accepted_by_openssh_from_a_pipe_and_from_run(self):
        self.run_("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "deploy", "-f", "k")
        public = (self.world.home / "k.pub").read_text()
        key = (self.world.home / "k").read_text()
        self.assertTrue(key.endswith("-----END OPENSSH PRIVATE KEY-----\n"))
        self.run_("kist", "save", "deploy.example", "key", input=key)
        self.assertEqual(self.run_("kist", "load", "deploy.example", "key").stdout, key)
        self.run_("sh", "-c", "umask 077; kist load deploy.example key > loaded")
        self.assertEqual(self.run_("ssh-keygen", "-y", "-f", "loaded").stdout, public)
        from_run = self.run_(
            "kist", "run", "--file", "KEY=kist://deploy.example/key", "--", "sh", "-c", "ssh-keygen -y -f $KEY",
            XDG_RUNTIME_DIR="", KIST_SOCKET=self.world.env["XDG_RUNTIME_DIR"] + "/kist/kist.sock")
        self.assertEqual(from_run.stdout, public)
