"""gh with kist-secret-service as the keyring, and a server on a socket in place of GitHub."""

import json
import re
import shutil
import socketserver
import subprocess
import threading
from http.server import BaseHTTPRequestHandler

from secret_service import ServiceTest
from world import needs

HOST = "github.example"


def load_tests(loader, *_):
    """Returns the tests for the version of gh that is here."""
    return loader.loadTestsFromTestCase(Gh if not shutil.which("gh") or version() >= (2, 24) else OldGh)


def version():
    text = subprocess.run(["gh", "--version"], capture_output=True, text=True).stdout
    return tuple(map(int, re.search(r"(\d+)\.(\d+)", text).groups()))


class GitHub(BaseHTTPRequestHandler):
    """Answers each token as the token of the user alice."""

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append(self.headers.get("Authorization"))
        body = json.dumps({"data": {"viewer": {"login": "alice"}}}).encode()
        self.send_response(200)
        self.send_header("X-OAuth-Scopes", "gist, read:org, repo")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


class GhTest(ServiceTest):
    def setUp(self):
        super().setUp()
        path = self.world.home / "github"
        self.server = Server(str(path), GitHub)
        self.server.seen = []
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.world.env |= {"GH_HOST": HOST, "GH_NO_UPDATE_NOTIFIER": "1"}
        self.run_("gh", "config", "set", "http_unix_socket", path)

    def log_in(self, token):
        self.run_("gh", "auth", "login", "--hostname", HOST, "--with-token", input=token + "\n")

    def token(self, **options):
        return self.run_("gh", "auth", "token", "--hostname", HOST, **options).stdout.rstrip("\n")

    def plain(self):
        """Returns the file in which gh stores a token if it finds no keyring."""
        return (self.world.home / ".config" / "gh" / "hosts.yml").read_text()


class OldGh(GhTest):
    """gh before its version 2.24, such as Debian 12's."""

    def test_uses_no_keyring(self):
        self.log_in("gho_one")
        self.assertIn("gho_one", self.plain())
        self.assertEqual(self.token(), "gho_one")
        self.assertEqual(self.world.credentials(), [])


@needs("gh")
class Gh(GhTest):
    def test_a_login_is_in_kist_until_the_logout(self):
        self.log_in("gho_one")
        self.assertIn((f"gh:{HOST}", "alice"), self.world.credentials())
        self.assertEqual(self.world.load(f"gh:{HOST}", "alice"), "gho_one")
        self.assertEqual(self.token(), "gho_one")
        self.log_in("gho_two")
        self.world.restart()
        self.assertEqual(self.token(), "gho_two")
        self.assertEqual(self.world.load(f"gh:{HOST}", "alice"), "gho_two")
        self.run_("gh", "api", "user")
        self.assertEqual(self.server.seen[-1], "token gho_two")
        self.assertNotIn("gho_", self.plain())
        self.run_("gh", "auth", "logout", "--hostname", HOST)
        self.assertEqual(self.world.credentials(), [])

    def test_while_kist_is_locked_it_has_no_token(self):
        """It writes the token of a login to a file then."""
        self.log_in("gho_one")
        self.world.lock()
        self.assertEqual(self.token(fails=True), "")
        self.world.unlock()
        self.assertEqual(self.token(), "gho_one")
        self.world.lock()
        self.log_in("gho_two")
        self.assertIn("gho_two", self.plain())
        self.world.unlock()
        self.assertEqual(self.world.load(f"gh:{HOST}", "alice"), "gho_one")
