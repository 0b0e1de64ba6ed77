"""Programs with windows, with kist-secret-service as the keyring: Chromium, and Seahorse on a virtual screen."""

import os
import sqlite3
import subprocess
import time
from pathlib import Path

from secret_service import ServiceTest
from servers import Server
from world import needs

HERE = Path(__file__).parent
ATSPI = Path("/usr/share/doc/gir1.2-atspi-2.0")


@needs("chromium")
class Chromium(ServiceTest):
    """A browser without a window, which encrypts its cookies with a key in the keyring."""

    item = ("chrome_libsecret_os_crypt_password_v2", "Chromium Safe Storage")

    def setUp(self):
        super().setUp()
        self.cookies = []
        self.server = Server(self.answer, {None}, "")
        self.addCleanup(self.server.close)

    def answer(self, handler, _):
        headers = {"Content-Type": "text/html"}
        if handler.path == "/login":
            headers["Set-Cookie"] = "session=hunter2; Max-Age=100000; SameSite=Lax"
        if handler.path == "/":
            self.cookies.append(handler.headers.get("Cookie"))
        handler.reply(200, b"<p>page</p>", headers)

    def open(self, path):
        """Starts the browser for one page, and returns the cookie that the server got, for the page `/`."""
        self.run_(
            "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--password-store=gnome-libsecret",
            f"--user-data-dir={self.world.home}/profile", "--dump-dom",
            f"http://127.0.0.1:{self.server.port}{path}")
        return self.cookies.pop() if path == "/" else None

    def stored(self):
        """Returns the encrypted cookie."""
        file, = (self.world.home / "profile").rglob("Cookies")
        with sqlite3.connect(file) as database:
            (value, encrypted), = database.execute("select value, encrypted_value from cookies")
        self.assertEqual(value, "")
        return encrypted

    def test_finds_its_cookies_after_a_restart(self):
        self.open("/login")
        self.assertEqual(self.world.credentials(), [self.item])
        # Without a keyring, the prefix is v10, and the key is in the sources of Chromium.
        self.assertEqual(self.stored()[:3], b"v11")
        key = self.world.load(*self.item)
        self.world.restart()
        self.assertEqual(self.open("/"), "session=hunter2")
        self.assertEqual(self.world.load(*self.item), key)

    def test_keeps_its_key_while_kist_is_locked(self):
        """But it deletes the cookies that it cannot read."""
        self.open("/login")
        key = self.world.load(*self.item)
        self.world.lock()
        self.assertIsNone(self.open("/"))
        self.world.unlock()
        self.open("/login")
        self.assertEqual(self.open("/"), "session=hunter2")
        self.assertEqual(self.world.credentials(), [self.item])
        self.assertEqual(self.world.load(*self.item), key)

    def test_loses_its_cookies_with_the_key(self):
        self.open("/login")
        self.run_("kist", "delete", *self.item)
        self.assertIsNone(self.open("/"))


@needs("Xvfb")
@needs("import", "(imagemagick)")
@needs("xdotool")
@needs("the texts of windows", "(python3-gi, gir1.2-atspi-2.0)", where=ATSPI.is_dir())
@needs("seahorse")
class Seahorse(ServiceTest):
    """The window that shows the items of a keyring."""

    def setUp(self):
        super().setUp()
        reader, writer = os.pipe()
        screen = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writer), "-screen", "0", "900x560x24", "-nolisten", "tcp", "-noreset"],
            pass_fds=[writer], stderr=subprocess.DEVNULL)
        self.world.children.append(screen)
        os.close(writer)
        with open(reader) as number:
            self.world.env["DISPLAY"] = ":" + number.readline().strip()
        self.world.env["GSETTINGS_BACKEND"] = "memory"

    def texts(self):
        return self.run_("/usr/bin/python3", HERE / "window_texts.py").stdout.splitlines()

    def wait_for(self, what, holds):
        self.world.wait(f"Seahorse shows {what}", lambda: holds(self.texts()))

    def show(self, *items):
        """Starts Seahorse with a wide window, and selects the collection; it may begin with another list."""
        self.world.start("seahorse")
        self.wait_for("a window", lambda texts: "Passwords and Keys" in texts)
        window = self.run_("xdotool", "search", "--onlyvisible", "--class", "seahorse").stdout.split()[0]
        self.run_("xdotool", "windowmove", window, "0", "0", "windowsize", window, "900", "560")

        def shows_items():
            self.run_("xdotool", "mousemove", "120", "100", "click", "1")
            time.sleep(0.2)
            return set(items) <= set(self.texts())

        self.world.wait(f"Seahorse shows {items}", shows_items)

    def test_shows_the_credentials_of_kist_and_their_changes(self):
        self.run_("kist", "save", "https://github.com", "alice", "--label", "GitHub, personal", input="hunter2")
        words = ["server", "registry.example", "user", "alice"]
        self.run_("secret-tool", "store", "--label=Registry token", *words, input="swordfish")
        self.show("Login", "GitHub, personal", "Registry token")
        if "KIST_UPDATE_PICTURES" in os.environ:
            picture = HERE.parents[1] / "docs" / "pictures" / "seahorse.png"
            self.run_("import", "-window", "root", "-strip", f"PNG8:{picture}")
        self.run_("kist", "save", "b.example", "bob", "--label", "Backups", input="hunter2")
        self.wait_for("a new item", lambda texts: "Backups" in texts)
        self.run_("kist", "delete", "b.example", "bob")
        self.wait_for("that it is deleted", lambda texts: "Backups" not in texts)
        self.world.lock()
        self.run_("secret-tool", "lookup", *words, fails=True)
        self.wait_for("a locked collection", lambda texts: "Unlock" in texts and "Registry token" not in texts)
        self.world.unlock()
        self.wait_for("the items again", lambda texts: "Unlock" not in texts and "Registry token" in texts)
