"""pip, uv and twine, with kist as their keyring."""

import io
import subprocess
import sys
import unittest
import zipfile

from servers import Server, basic
from world import IntegrationTest, PROGRAMS, needs

WHEEL = "thing-1.0-py3-none-any.whl"


def wheel():
    """Returns an empty package."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
        file.writestr("thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("thing-1.0.dist-info/RECORD", "")
    return archive.getvalue()


def index(allowed):
    """Serves a package index with one package that accepts uploads."""
    pages = {
        "/simple/thing/": (f'<a href="/{WHEEL}">{WHEEL}</a>'.encode(), "text/html"),
        f"/{WHEEL}": (wheel(), "application/octet-stream"),
        "/legacy/": (b"", "text/plain"),
    }

    def answer(handler, _):
        body, content_type = pages.get(handler.path, (None, None))
        handler.reply(404) if body is None else handler.reply(200, body, {"Content-Type": content_type})

    return Server(answer, allowed, 'Basic realm="index"')


class Python(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.server = index({basic("alice", "hunter2"), basic("__token__", "pypi-t")})
        self.addCleanup(self.server.close)
        self.url = f"http://127.0.0.1:{self.server.port}/simple/"
        link = self.world.home / "bin" / "keyring"
        link.symlink_to(PROGRAMS / "kist")
        self.world.env |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "UV_KEYRING_PROVIDER": "subprocess"}

    def save(self):
        self.run_("keyring", "set", self.url, "alice", input="hunter2\n")

    def named(self):
        return self.url.replace("//", "//alice@")

    def check_round(self, use):
        """Checks a tool before a save, after it, with kist unavailable and available again, and after a delete."""
        use(fails=True)
        self.save()
        use()
        for _ in self.world.while_unavailable():
            use(fails=True)
        use()
        self.run_("keyring", "del", self.url, "alice")
        self.assertEqual(self.world.credentials(), [])
        use(fails=True)

    @needs("pip")
    def test_pip_uses_a_password_until_it_is_deleted(self):
        self.run_("kist", "setup", "keyring", "--apply")
        self.check_round(self.pip)

    def pip(self, url=None, fails=False):
        return self.run_(
            "pip", "download", "--no-cache-dir", "--no-input", "--no-deps", "--index-url", url or self.named(),
            "thing", fails=fails)

    @needs("pip")
    def test_pip_finds_the_user_from_version_26_2_on(self):
        self.run_("kist", "setup", "keyring", "--apply")
        self.save()
        version = self.run_("pip", "--version").stdout.split()[1].split(".")
        self.pip(self.url, fails=(int(version[0]), int(version[1])) < (26, 2))

    @needs("uv", "(of PyPI)")
    def test_uv_uses_a_password_until_it_is_deleted(self):
        self.check_round(self.uv)

    def uv(self, fails=False):
        return self.run_(
            "uv", "pip", "install", "--no-cache", "--python", sys.executable, "--target", "target", "--reinstall",
            "--index-url", self.named().rstrip("/"), "thing", fails=fails)

    @needs("twine", "(of PyPI)")
    def test_twine_uses_the_backend_without_the_keyring_command(self):
        """The package of integrations/python is installed with twine."""
        (self.world.home / "bin" / "keyring").unlink()
        (self.world.home / WHEEL).write_bytes(wheel())
        url = f"http://127.0.0.1:{self.server.port}/legacy/"

        def use(fails=False):
            return self.run_("twine", "upload", "--non-interactive", "--repository-url", url, WHEEL, fails=fails)

        use(fails=True)
        self.run_("kist", "save", url, "__token__", input="pypi-t")
        use()
        self.assertEqual(self.server.seen[-1], ("POST", "/legacy/", basic("__token__", "pypi-t")))
        for _ in self.world.while_unavailable():
            use(fails=True)
        use()
        self.run_("kist", "delete", url, "__token__")
        use(fails=True)


if __name__ == "__main__":
    unittest.main()
