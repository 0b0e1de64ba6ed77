"""Untrusted text and files: what reaches a terminal, and what a file of variables can start."""

import itertools
import os
import shutil
import subprocess
import time
import unicodedata

from frame.row import Row
from hostile.impostor import Empty, Impostor, Large, Loading, Repeating, Stalled
from scan.terminal import Terminal

# Characters that control a terminal, that hide or reorder text, or that imitate another line.
PIECES = ("\x1b]0;title\x07", "\x1b[2J", "\x1b[31m", "\r", "\n", "\nhint: forged", "\t", "\b", "\x7f", "\x9b2J", "\x85",
          "\u202e", "\u2066", "\u200b", "\u2028", "\U000e0041", "\ufeff", "`id`", "plain", "\u05e9", "\u6f22")
# Each prints the answer of a daemon; none prints a secret.
COMMANDS = ("status", "status --json", "list", "list --json", "lock --json", "slots", "slots --json", "audit", "audit --json",
            "watch --no-reconnect", "watch --no-reconnect --json", "delete s --no-prompt", "doctor", "doctor --json",
            "unlock --json")
# Commands that read one page after another, to the last.
LISTS = (("list",), ("list", "--json"), ("audit", "--json"), ("audit",))
# The expected exit statuses.
INTERNAL, TOO_LARGE = 1, 9
# The seconds and the memory after which a command should have ended.
LONGEST, MOST_MEMORY = 60, 1 << 30
# Variables that make a program run code from FOLDER, which creates a file.
ATTACKS = (
    ("BASH_ENV", "FOLDER/code.sh", ("bash", "-c", "true")),
    ("PERL5OPT", "-MCode", ("perl", "-IFOLDER", "-e", "1")),
    ("PYTHONPATH", "FOLDER", ("python3", "-c", "import code_of_kist")),
    ("GIT_SSH_COMMAND", "FOLDER/code.sh", ("git", "ls-remote", "ssh://nowhere.invalid/")),
    ("PATH", "FOLDER", ("/bin/sh", "-c", "program-of-kist")),
    ("HOME", "FOLDER", ("bash", "-i", "-c", "true")),
    ("LD_PRELOAD", "FOLDER/code.so", ("/bin/true",)),
)
# A service for --only, and references that may look like references to it.
ALLOWED, ALLOWED_REFERENCE = "caf\u00e9", "kist://caf%C3%A9/a"
OTHER_REFERENCES = (
    "kist://other/a", "kist://cafe%CC%81/a", "kist://CAF%C3%89/a", "kist://caf%C3%A9x/a", "kist://caf/a", "kist://caf%C3%A9%20/a",
    "kist://caf%C3%A9%2F..%2Fother/a", "kist://%6F%74%68%65%72/a")


def run(context):
    for attack in (answers, endless, variables, only):
        row, began = Row(what=attack.__doc__.rstrip(".")), time.monotonic()
        attack(row, context)
        row.seconds = time.monotonic() - began
        yield row


def answers(row, context):
    """Replies, errors and paths with characters that control a terminal."""
    random = context.random("texts")
    deadline = time.monotonic() + context.seconds
    for number in itertools.count():
        if number >= 3 and time.monotonic() > deadline:
            return
        text = "".join(random.choices(PIECES, k=random.randint(1, 4)))
        folder = context.folder / f"{number}"
        folder.mkdir(mode=0o700)
        with Impostor(folder / "socket", text) as impostor:
            for fails, command in itertools.product((False, True), COMMANDS):
                impostor.fails = fails
                ask(row, context, command, folder / "socket", text)
        ask(row, context, "status", f"{folder}/{text}", text)
        ask(row, context, "doctor", f"{folder}/{text}", text)
        shutil.rmtree(folder)


def ask(row, context, command, path, text):
    words = [context.kist, *command.split(), "--socket", str(path)]
    environment = {"HOME": str(context.folder), "PATH": "/usr/bin:/bin", "TERM": "dumb"}
    terminal = Terminal(words, environment)
    terminal.end()
    row.tries += 1
    # A terminal ends lines with a carriage return and a newline.
    shown = terminal.said.decode(errors="surrogateescape").replace("\r\n", "\n")
    # Columns of `watch` have a tab between them.
    bad = {character for character in shown if character not in "\n\t"
           and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    if bad or "\nhint: forged" in shown:
        row.wrong.append(f"`kist {command}` shows {sorted(map(ascii, bad))} of {text!a}")


def endless(row, context):
    """Lists and backups that never end."""
    backup = ("backup", "--replace", context.folder / "backup")
    attacks = [*itertools.product((Repeating, Empty), LISTS), (Stalled, backup),
               *((Large, words) for words in (LISTS[-1:] if context.short else LISTS))]
    for number, (kind, words) in enumerate(attacks):
        path = context.folder / f"endless-{number}"
        with kind(path, "plain"):
            status, memory, said = measured(context, ["timeout", "-s", "KILL", str(LONGEST), context.kist, *words, "--socket", path])
        row.tries += 1
        case = f"`kist {' '.join(map(str, words))}` with {kind.__doc__.rstrip('.')}"
        if status not in (INTERNAL, TOO_LARGE):
            row.wrong.append(f"{case}: status {status}, {said[-300:]}")
        if memory > MOST_MEMORY:
            row.wrong.append(f"{case}: {memory >> 20} MiB of memory")


def measured(context, words):
    """Runs a command that reads a new passphrase; returns its status, its peak memory in bytes, and its standard error."""
    typed, said = context.folder / "typed", context.folder / "said"
    typed.write_text("a new passphrase\n")
    with open(typed) as reading, open(said, "w") as writing:
        process = subprocess.Popen(words, env={"HOME": str(context.folder), "PATH": os.environ["PATH"]}, stdin=reading,
                                   stdout=subprocess.DEVNULL, stderr=writing)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss << 10, said.read_text(errors="replace")


def variables(row, context):
    """Files of variables that make a loader, a shell or an interpreter run code."""
    folder, mark = context.folder / "code", context.folder / "mark"
    folder.mkdir()
    script = f"#!/bin/sh\n: > {mark}\n"
    for name in ("code.sh", "program-of-kist"):
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    (folder / ".bashrc").write_text(script)
    (folder / "Code.pm").write_text(f"open(F, '>', '{mark}'); 1;\n")
    (folder / "code_of_kist.py").write_text(f"open('{mark}', 'w')\n")
    (folder / "code.c").write_text(
        '#include <fcntl.h>\n__attribute__((constructor)) static void run(void) { open("%s", O_CREAT | O_WRONLY, 0600); }\n' % mark)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "code.so", folder / "code.c"], check=True)
    harmless, missing = [], []
    for name, value, command in ATTACKS:
        def filled(text):
            return text.replace("FOLDER", str(folder))

        if not shutil.which(command[0]):
            missing.append(command[0])
            continue
        file = context.folder / "variables"
        file.write_text(f"PLAIN=1\n{name}={filled(value)}\n")
        for allowed in (False, True):
            mark.unlink(missing_ok=True)
            allows = ["--allow-env", name] if allowed else []
            end = subprocess.run(
                [context.kist, "run", "--env-file", file, *allows, "--", *map(filled, command)],
                env={"HOME": str(context.folder), "PATH": os.environ["PATH"]}, cwd="/", stdin=subprocess.DEVNULL,
                capture_output=True)
            row.tries += 1
            if not allowed and (end.returncode != 125 or mark.exists()):
                row.got_in.append(f"{name}={value} in a file of variables: status {end.returncode}, {mark.exists()=}")
            if allowed and not mark.exists():
                harmless.append(name)
    if missing:
        row.note = f"not tried, because these are missing: {', '.join(missing)}"
        if os.environ.get("CI"):
            row.wrong.append(row.note)
    # Each attack must work when it is allowed. Otherwise its refusal would prove nothing.
    if harmless:
        row.wrong.append(f"{', '.join(harmless)}: run nothing even if allowed")


def only(row, context):
    """Files and templates that refer to other services than `--only` names."""
    file, path = context.folder / "references", context.folder / "only"
    with Loading(path, "plain") as impostor:
        for reference in (ALLOWED_REFERENCE, *OTHER_REFERENCES):
            for words, content in (
                    (("inject", "--in", file), f"{{{{ {ALLOWED_REFERENCE} }}}} {{{{ {reference} }}}}\n"),
                    (("run", "--env-file", file), f"A={ALLOWED_REFERENCE}\nB={reference}\n"),
                    (("run", "--env", f"B={reference}"), "")):
                file.write_text(content)
                impostor.loads = 0
                command = ("--", "sh", "-c", "echo $A $B") if words[0] == "run" else ()
                end = subprocess.run(
                    [context.kist, *words, "--only", ALLOWED, "--socket", path, *command],
                    env={"HOME": str(context.folder), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
                    stdin=subprocess.DEVNULL, capture_output=True)
                row.tries += 1
                if reference == ALLOWED_REFERENCE and (end.returncode != 0 or not impostor.loads):
                    row.wrong.append(f"`kist {words[0]}` refuses the service that --only names: {end.stderr}")
                if reference != ALLOWED_REFERENCE and (end.returncode == 0 or impostor.loads or end.stdout):
                    row.got_in.append(f"`kist {words[0]} --only {ALLOWED}` with {reference}: status {end.returncode}, "
                                      f"{impostor.loads} loads, {end.stdout}")
