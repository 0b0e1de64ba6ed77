"""The AWS CLI, with kist as its credential process."""

import hashlib
import hmac
import unittest

from servers import Server
from world import IntegrationTest, needs

WHO = (b"<GetCallerIdentityResponse xmlns='https://sts.amazonaws.com/doc/2011-06-15/'><GetCallerIdentityResult>"
       b"<Arn>arn:aws:iam::1:user/alice</Arn><UserId>alice</UserId><Account>1</Account>"
       b"</GetCallerIdentityResult></GetCallerIdentityResponse>")


def signature(handler, body, secret):
    """Returns the key, the signature and the expected signature of a request (AWS Signature Version 4)."""
    fields = dict(part.strip().split("=", 1) for part in handler.headers["Authorization"].split(" ", 1)[1].split(","))
    scope = fields["Credential"].split("/", 1)[1]
    names = fields["SignedHeaders"].split(";")
    headers = "".join(f"{name}:{handler.headers[name].strip()}\n" for name in names)
    request = "\n".join(
        [handler.command, handler.path, "", headers, ";".join(names), hashlib.sha256(body).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = "\n".join([
        "AWS4-HMAC-SHA256", handler.headers["X-Amz-Date"], scope, hashlib.sha256(request.encode()).hexdigest()])
    return fields["Credential"].split("/")[0], fields["Signature"], hmac.digest(key, text.encode(), "sha256").hex()


class Everyone:
    def __contains__(self, _):
        return True


@needs("aws", "(awscli of PyPI)")
class AWS(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.secret, self.asked = "wJalr/+K7", []
        self.server = Server(self.answer, [], "")
        self.server.allowed = Everyone()
        self.addCleanup(self.server.close)
        folder = self.world.home / ".aws"
        folder.mkdir()
        line = self.run_("kist", "setup", "aws").stdout.replace("NAME", "prod")
        (folder / "config").write_text("[profile prod]\nregion = eu-central-1\n" + line)

    def answer(self, handler, body):
        key, given, expected = signature(handler, body, self.secret)
        self.asked.append((key, handler.headers.get("X-Amz-Security-Token")))
        if given != expected:
            return handler.reply(403, b"<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code></Error></ErrorResponse>")
        handler.reply(200, WHO, {"Content-Type": "text/xml"})

    def who(self, fails=False):
        return self.run_(
            "aws", "--profile", "prod", "--endpoint-url", f"http://127.0.0.1:{self.server.port}",
            "sts", "get-caller-identity", fails=fails)

    def test_a_saved_key_signs_requests_until_it_is_deleted(self):
        self.assertIn("no such credential", self.who(fails=True).stderr)
        self.run_("kist", "save", "aws:prod", "AKIA1", input=self.secret)
        self.assertIn("user/alice", self.who().stdout)
        self.assertEqual(self.asked, [("AKIA1", None)])
        self.assertIn("custom-process", self.run_("aws", "--profile", "prod", "configure", "list").stdout)
        self.run_("kist", "delete", "aws:prod", "AKIA1")
        self.assertIn("no such credential", self.who(fails=True).stderr)

    def test_a_session_token_is_sent_until_it_expires(self):
        self.run_("kist", "save", "aws:prod", "ASIA1", input=self.secret)
        self.run_("kist", "save", "aws-session-token:prod", "ASIA1", "--expires-in", "1h", input="to=ken")
        self.who()
        self.assertEqual(self.asked, [("ASIA1", "to=ken")])
        self.run_(
            "kist", "save", "aws-session-token:prod", "ASIA1", "--expires-at", "2020-01-01T00:00:00Z", input="t")
        self.assertIn("expired", self.who(fails=True).stderr)

    def test_aws_reports_a_locked_or_missing_kistd(self):
        """The stored key remains usable afterwards."""
        self.run_("kist", "save", "aws:prod", "AKIA1", input=self.secret)
        for reason in self.world.while_unavailable():
            self.assertIn(reason, self.who(fails=True).stderr)
        self.who()


if __name__ == "__main__":
    unittest.main()
