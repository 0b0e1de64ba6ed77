"""Terraform, with kist as its credentials helper."""

import io
import json
import re
import ssl
import subprocess
import threading
import unittest
import urllib.request
import zipfile
from urllib.parse import parse_qs, urlencode, urlparse

from servers import Server
from tls import certificate, over_tls
from world import IntegrationTest, needs


@needs("terraform", "(of HashiCorp)")
class Terraform(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.certificate, key = certificate(self.world, "server")
        self.server = over_tls(Server(self.answer, [None, "Bearer t0ken", "Bearer other"], "Bearer"), self.certificate, key)
        self.addCleanup(self.server.close)
        self.host = f"127.0.0.1:{self.server.port}"
        configuration, link = self.run_("kist", "setup", "terraform").stdout.splitlines()
        (self.world.home / ".terraformrc").write_text(f"disable_checkpoint = true\n{configuration}\n")
        self.run_("sh", "-c", link)
        (self.world.home / "main.tf").write_text(
            f'module "thing" {{\n  source  = "{self.host}/ns/thing/none"\n  version = "1.0.0"\n}}\n')
        self.world.env["SSL_CERT_FILE"] = str(self.certificate)

    def answer(self, handler, body):
        """Serves a registry with one module, and a login without interaction."""
        here = f"https://{self.host}"
        path = urlparse(handler.path).path
        if path.startswith("/modules") and handler.headers.get("Authorization") != "Bearer t0ken":
            return handler.reply(401, b"{}")
        if path == "/modules/ns/thing/none/1.0.0/download":
            return handler.reply(204, headers={"X-Terraform-Get": here + "/thing.zip"})
        if path == "/authorize":
            query = {name: values[0] for name, values in parse_qs(urlparse(handler.path).query).items()}
            back = query["redirect_uri"] + "?" + urlencode({"code": "c", "state": query["state"]})
            return handler.reply(302, headers={"Location": back})
        pages = {
            "/.well-known/terraform.json": {
                "modules.v1": "/modules/",
                "login.v1": {"client": "terraform", "grant_types": ["authz_code"], "authz": here + "/authorize",
                             "token": here + "/token", "ports": [10000, 10010]}},
            "/token": {"access_token": "t0ken", "token_type": "bearer"},
            "/modules/ns/thing/none/versions": {"modules": [{"versions": [{"version": "1.0.0"}]}]},
        }
        if path == "/thing.zip":
            archive = io.BytesIO()
            with zipfile.ZipFile(archive, "w") as file:
                file.writestr("main.tf", "")
            return handler.reply(200, archive.getvalue(), {"Content-Type": "application/zip"})
        if path not in pages:
            return handler.reply(404)
        handler.reply(200, json.dumps(pages[path]).encode(), {"Content-Type": "application/json"})

    def init(self, fails=False, **env):
        end = self.run_("terraform", "init", "-no-color", fails=fails, **env)
        self.run_("rm", "-rf", ".terraform")
        return end.stdout + end.stderr

    def login(self):
        """Logs in, and opens the address that Terraform prints, as a browser would."""
        child = subprocess.Popen(
            ["terraform", "login", "-no-color", self.host], cwd=self.world.home, env=self.world.env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        timer = threading.Timer(60, child.kill)
        timer.start()
        child.stdin.write("yes\n")
        child.stdin.flush()
        said = ""
        for line in child.stdout:
            said += line
            if found := re.search(r"https://\S+/authorize\S+", line):
                urllib.request.urlopen(found[0], context=ssl.create_default_context(cafile=self.certificate)).read()
        timer.cancel()
        for stream in [child.stdin, child.stdout]:
            stream.close()
        self.assertEqual(child.wait(), 0, said)

    def test_a_login_is_used_until_the_logout(self):
        self.init(fails=True)
        self.login()
        self.assertEqual(self.world.credentials(), [(f"terraform:{self.host}", "")])
        self.assertEqual(self.run_("kist", "load", f"terraform:{self.host}").stdout, "t0ken")
        self.init()
        self.run_("terraform", "logout", "-no-color", self.host)
        self.assertEqual(self.world.credentials(), [])
        self.init(fails=True)

    def test_a_refused_token_can_be_replaced(self):
        self.run_("kist", "save", f"terraform:{self.host}", input="other")
        self.init(fails=True)
        self.run_("kist", "save", f"terraform:{self.host}", input="t0ken")
        self.init()

    def test_terraform_logs_a_locked_or_missing_kistd(self):
        """Terraform continues without a token, and the server refuses it. The stored token remains usable afterwards."""
        self.run_("kist", "save", f"terraform:{self.host}", input="t0ken")
        for reason in self.world.while_unavailable():
            self.assertIn("401", self.init(fails=True))
            self.assertIn(reason, self.init(fails=True, TF_LOG="debug"))
            self.assertIn(reason, self.run_("terraform", "logout", self.host, fails=True).stderr)
        self.init()


if __name__ == "__main__":
    unittest.main()
