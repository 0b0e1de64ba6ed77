"""bash, zsh and fish with the completion of kist and kistd, at a terminal with simulated input."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
import unittest
from pathlib import Path

from world import PROGRAMS, IntegrationTest, needs

ROOT = Path(__file__).parents[2]
# A shell would misread each of these without quotes; `touch canary` would create a file.
NAMES = [
    "with space", "two  spaces ", "it's", 'say "hi"', "$(touch canary)", "`touch canary`", "$HOME", "a;touch canary;",
    "a:b:c", "back\\slash\\", "star*[x]?", "~", "#hash", "bang!!", "né ü …", "a&b|c>d<e", "x=y", "{a,b}", "a@b,c%d^",
    "(p)", "'\"", "\"$(touch canary)\"", "'$(touch canary)'", "\\$(touch canary)", "}; touch canary; {", "%(x)s%n",
]


class Terminal:
    """A shell at a terminal, and the text that it shows."""

    def __init__(self, world, *words):
        self.shown, self.child = b"", None
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir(world.home)
            os.execvpe(words[0], words, world.env | {"TERM": "xterm", "PS1": "ready> ", "HISTFILE": ""})
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))

    def type(self, keys):
        self.shown = b""
        os.write(self.terminal, keys.encode())

    def wait(self, text):
        """Returns once the shell shows a text after the last input; fails after a minute."""
        end = time.monotonic() + 60
        while text.encode() not in self.shown:
            if not select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"not shown: {text}\n" + self.shown.decode(errors="replace"))
            self.shown += os.read(self.terminal, 65536)

    def end(self):
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        os.close(self.terminal)


class Shell:
    """The tests for every shell; each shell has its own class."""

    withheld = ["-odd-"]

    def setUp(self):
        super().setUp()
        self.canary = self.world.home / "canary"
        script = subprocess.run(
            [ROOT / "scripts/completion", self.shell, PROGRAMS], capture_output=True, text=True, check=True).stdout
        self.script = self.world.home / self.file
        self.script.write_text(script)
        self.saved = 0

    def open(self, before=""):
        terminal = Terminal(self.world, *self.words)
        self.addCleanup(terminal.end)
        # The output differs from the input, so it only appears once the shell has run the command.
        terminal.type(f"{before}{self.setup}; echo read''y\r")
        terminal.wait("ready\r\n")
        return terminal

    def save(self, service, account=""):
        """Saves a unique secret; returns it."""
        self.saved += 1
        self.run_("kist", "save", "--", service, account, input=f"secret-{self.saved}.")
        return f"secret-{self.saved}."

    def test_any_name_is_completed_exactly(self):
        """This also holds after a quotation mark."""
        secrets = [self.save(f"n{number:02}{name}") for number, name in enumerate(NAMES)]
        terminal = self.open()
        for quote in ["", "'", '"']:
            for number, secret in enumerate(secrets):
                with self.subTest(name=NAMES[number], quote=quote):
                    terminal.type(f"kist load {quote}n{number:02}\t\r")
                    terminal.wait(secret)
        self.assertFalse(self.canary.exists())

    def test_a_partly_typed_name_is_read_as_the_shell_reads_it(self):
        secrets = {
            name: self.save(name) for name in ["with space", "with stop", "a:b:c", "a:b:d", "x=y", "it's", "*", "é 1"]}
        terminal = self.open()
        for typed, name in [
                ("with\\ sp", "with space"), ("'with 'st", "with stop"), ("a:b:c", "a:b:c"), ("a:b:\tc", "a:b:c"),
                ("a\\:b:d", "a:b:d"), ("x=", "x="), ('"it\'', "it's"), ("it\\'", "it's"), ("\\*", "*"), ("é", "é 1")]:
            with self.subTest(typed=typed):
                terminal.type(f"kist load {typed}\t\r")
                terminal.wait(secrets.get(name) or secrets["x=y"])

    def test_names_may_begin_with_special_characters(self):
        for name in ["~root", "#x", "$(touch canary)", " x", "!!", "-odd-"]:
            with self.subTest(name=name):
                secret = self.save(name)
                terminal = self.open()
                # Some are not offered, because the command would read them as something else.
                terminal.type("kist load \t\r" if name not in self.withheld else f"kist load -- \t'{name}'\r")
                terminal.wait(secret)
                self.run_("kist", "delete", "--", name)
        self.assertFalse(self.canary.exists())

    def test_aliases_of_the_user_do_not_affect_the_completion(self):
        secret = self.save("with space")
        terminal = self.open(before="alias grep='grep --color=always' cut='cut -c 1' sort=false timeout=false; ")
        terminal.type("kist load wi\t\r")
        terminal.wait(secret)

    def test_accounts_of_the_typed_service_are_completed(self):
        secrets = {name: self.save("it's db", name) for name in ["al ice", "bob"]}
        self.save("other", "alfred")
        terminal = self.open()
        terminal.type("kist load it\\'s\\ db al\t\r")
        terminal.wait(secrets["al ice"])
        terminal.type("kist load --allow-expired 'it'\"'s db\" b\t\r")
        terminal.wait(secrets["bob"])
        terminal.type("kist list --service it\\'s\\ db --account b\t | cut -f 2 | sed s/^/is:/\r")
        terminal.wait("is:bob\r\n")

    def test_commands_options_values_and_files_are_completed(self):
        secret = self.save("db")
        (self.world.home / "listen here").symlink_to("run/kist/kist.sock")
        (self.world.home / "template of mine").write_text("{{ kist://db }}")
        terminal = self.open()
        for typed in ["kist loa\td\t", "kist load --allow\td\t", "kist load --socket list\td\t",
                      "kist inject --in templ\t", "kist run --env A=kist://db -- printen\tA",
                      "kist list --service=d\t >/dev/null; kist load db"]:
            with self.subTest(typed=typed):
                terminal.type(typed + "\r")
                terminal.wait(secret)
        terminal.type("kist setup kub\t\r")
        terminal.wait("exec")

    def test_references_are_completed_for_a_variable_and_for_a_credential(self):
        """References have percent signs, and no character that a shell would misread."""
        secret = self.save("https://git.example", "it's me")
        self.save("kitchen")
        terminal = self.open()
        for typed in ["kist run --env A=kist://htt\t -- printenv A", "kist run --env=A=kist://https%3A%2F%2Fg\t -- printenv A",
                      "kist run --env B=kist://kitchen --file A=kist:\thtt\t -- sh -c 'cat $A'",
                      "kist load kist://htt\t", "kist load kist:\thttps%3A\t"]:
            with self.subTest(typed=typed):
                terminal.type(typed + "\r")
                terminal.wait(secret)

    def test_commands_options_values_and_paths_of_kistd_are_completed(self):
        (self.world.home / "a store").mkdir()
        (self.world.home / "a note").touch()
        terminal = self.open()
        for typed, shown in [
                ("kistd pro\t--js\t", '"external":['),
                ("kistd probe --stor\tenc\t --json", '"external":['),
                ("kistd fsck --data a\t", "there is no store at a store"),
                ("kistd key-file a\t--pass\tx", "--passphrase-fd must be a number"),
                ("kistd restore a\\ no\t --ver\t </dev/null", "the passphrase of the backup is missing"),
                ("kistd --log-level err\t --data a\t -- printen\tKIST_SOCKET | sed s/^/is:/", f"is:{self.world.home}/run"),
        ]:
            with self.subTest(typed=typed):
                terminal.type(typed + "\r")
                terminal.wait(shown)

    def test_a_command_of_kistd_is_completed_only_as_the_first_word(self):
        terminal = self.open()
        terminal.type("kistd --log-level error keyring-it\t\x15echo no''thing\r")
        terminal.wait("nothing\r\n")
        self.assertNotIn(b"keyring-items", terminal.shown)

    def test_names_come_from_the_kistd_of_the_socket_option(self):
        secret = self.save("here")
        os.symlink(self.world.home / "run", self.world.home / "there")
        self.world.env["KIST_SOCKET"] = "/nowhere"
        terminal = self.open()
        terminal.type("kist load --socket ~/there/kist/kist.sock he\t\r".replace("~", str(self.world.home)))
        terminal.wait(secret)

    def test_without_an_answer_nothing_is_completed_or_printed(self):
        """This holds if no kistd runs, and if kist does not answer in time."""
        self.world.stop_kistd()
        terminal = self.open()
        self.complete_nothing(terminal)
        self.answer("sleep infinity")
        self.complete_nothing(terminal)

    def test_a_name_with_control_characters_is_not_offered(self):
        """kistd refuses to save such names."""
        self.answer(r"printf 'a\033]0;title\007\t\nb\177\t\n\t\nc\r\t\n'")
        self.complete_nothing(self.open())

    def test_a_name_with_characters_that_reorder_or_hide_text_is_not_offered(self):
        self.answer(r"printf 'a\342\200\256b\t\n\342\201\246c\t\n\302\233d\t\n\330\234e\t\n\357\273\277f\t\n'")
        self.complete_nothing(self.open())

    def complete_nothing(self, terminal):
        terminal.type("kist load \t\x15echo no''thing\r")
        terminal.wait("nothing\r\n")
        self.assertNotIn(b"no kistd", terminal.shown)
        self.assertNotIn(b"\x1b]0;title", terminal.shown)

    def answer(self, script):
        """Replaces `kist` by a script."""
        program = self.world.home / "bin/kist"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)


@needs("bash")
class Bash(Shell, IntegrationTest):
    shell, file, setup = "bash", "completion", ". ./completion"
    words = ["bash", "--norc", "--noprofile", "-i"]


@needs("zsh")
class Zsh(Shell, IntegrationTest):
    shell, file = "zsh", "_kist"
    words = ["zsh", "-f", "-i"]
    setup = "PS1='ready> ' fpath=($PWD $fpath); autoload -U compinit; compinit -u -d $PWD/dump"


@needs("fish")
class Fish(Shell, IntegrationTest):
    shell, file, setup = "fish", "kist.fish", "source kist.fish"
    words = ["fish", "--no-config", "-i"]
    withheld = ["-odd-", "~root"]


if __name__ == "__main__":
    unittest.main()
