"""kubectl, with kist as its credential plugin."""

import json
import unittest

from servers import Server
from tls import certificate, over_tls
from world import IntegrationTest, needs


def knows_v1(world):
    """Returns whether kubectl is at least 1.22; older ones, as in Debian 12, only support v1beta1."""
    version = json.loads(world.run("kubectl", "version", "--client", "-o", "json").stdout)["clientVersion"]
    return int(version["minor"].rstrip("+")) >= 22


@needs("kubectl", "(kubernetes-client of Debian)")
class Kubectl(IntegrationTest):
    versions = ["v1", "v1beta1"]

    def setUp(self):
        super().setUp()
        self.certificate, key = certificate(self.world, "server")
        self.client = certificate(self.world, "alice")
        self.server = over_tls(Server(self.answer, [None, "Bearer t0ken"], "Bearer"), self.certificate, key, self.client[0])
        self.addCleanup(self.server.close)
        if not knows_v1(self.world):
            self.versions = ["v1beta1"]
        self.configure(self.versions[0])

    def answer(self, handler, _):
        certificate = handler.connection.getpeercert()
        if not certificate and not handler.headers.get("Authorization"):
            return handler.reply(401, b"{}")
        handler.reply(200, b'{"gitVersion": "v1.%d.0"}' % bool(certificate), {"Content-Type": "application/json"})

    def configure(self, version):
        plugin = {"apiVersion": "client.authentication.k8s.io/" + version, "command": "kist",
                  "args": ["helper", "kubectl", "prod"]}
        if version == "v1":
            plugin["interactiveMode"] = "Never"
        cluster = {"server": f"https://127.0.0.1:{self.server.port}", "certificate-authority": str(self.certificate)}
        (self.world.home / ".kube").mkdir(exist_ok=True)
        (self.world.home / ".kube" / "config").write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "clusters": [{"name": "c", "cluster": cluster}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "prod"}}],
            "users": [{"name": "prod", "user": {"exec": plugin}}]}))

    def ask(self, fails=False):
        return self.run_("kubectl", "get", "--raw", "/version", fails=fails)

    def test_a_token_is_used_until_it_is_deleted(self):
        """This holds for each version of the protocol that this kubectl supports."""
        for version in self.versions:
            self.configure(version)
            self.assertIn("no such credential", self.ask(fails=True).stderr)
            self.run_("kist", "save", "kubectl:prod", "token", "--expires-in", "1h", input="t0ken\n")
            self.assertIn("v1.0.0", self.ask().stdout)
            self.run_("kist", "delete", "kubectl:prod", "token")
            self.assertIn("no such credential", self.ask(fails=True).stderr)

    def test_the_command_of_setup_configures_kubectl(self):
        if "v1" not in self.versions:
            self.skipTest("this kubectl is older than version 1 of the protocol")
        before = self.run_("kubectl", "config", "view", "-o", "json").stdout
        self.run_("kubectl", "config", "unset", "users")
        self.run_(*self.run_("kist", "setup", "kubectl").stdout.replace("NAME", "prod").split())
        after = self.run_("kubectl", "config", "view", "-o", "json").stdout
        self.assertEqual(json.loads(after), json.loads(before))

    def test_a_certificate_is_used_with_its_key(self):
        self.run_("kist", "save", "kubectl:prod", "client-certificate", input=self.client[0].read_text())
        self.assertIn("only one of the client certificate", self.ask(fails=True).stderr)
        self.run_("kist", "save", "kubectl:prod", "client-key", input=self.client[1].read_text())
        self.assertIn("v1.1.0", self.ask().stdout)

    def test_kubectl_reports_a_refused_or_expired_token(self):
        self.run_("kist", "save", "kubectl:prod", "token", input="other")
        self.assertIn("logged in", self.ask(fails=True).stderr)
        self.run_("kist", "save", "kubectl:prod", "token", "--expires-at", "2020-01-01T00:00:00Z", input="t0ken")
        self.assertIn("expired", self.ask(fails=True).stderr)

    def test_kubectl_reports_a_locked_or_missing_kistd(self):
        """The stored token remains usable afterwards."""
        self.run_("kist", "save", "kubectl:prod", "token", input="t0ken")
        for reason in self.world.while_unavailable():
            self.assertIn(reason, self.ask(fails=True).stderr)
        self.ask()


if __name__ == "__main__":
    unittest.main()
