r"""Recorded sessions: command lines with their output, which is compared with that of a run.

A line after `$ ` is a command for bash, and a line after `? ` is typed at a prompt. `[exit status N]` is an exit status other than
0. Everything else is output: `\e` is the escape character, and `\r` a carriage return. Text that differs in each run, such as
times and revisions, is replaced.

A home is where a session runs. `shell(command, *before)` returns the words that run a command of bash there, after other words. They
need the environment `environment` and the directory `path` of this machine. `handles(command)` performs a line that is not for
bash, and returns whether it was one. `normal(text)` replaces what differs in each run.
"""

import difflib
import os
import pty
import re
import select
import subprocess
import termios
import time
from pathlib import Path

# The end of a prompt, also of a shell.
PROMPT = re.compile(r"(: |\? |\] |(^|\n)\$ )$")
# The time limit of a command, in seconds.
LONGEST = 60

# Text that differs in each run, and its replacement.
CHANGING = [
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "2026-11-20T10:00:00Z"),
    (r"\b\d{4}-\d\d-\d\d\b(?!T)", "2026-11-20"),
    (r"\b[0-9a-z]{6,}\.(\d+)\b", r"k3f9.\1"),
    (r"\b\d+ [MG]iB are free", "41 GiB are free"),
    (r'(uptime"?: ?)\d+', r"\g<1>0"),
    (r"\b(process|pid|kill) \d+", r"\1 4242"),
    (r"(  kist     )\d+\n", r"\g<1>4242\n"),
    (r"\b[0-9a-f]{32}\b", "4d68ea2aaf12dbab3e7ec7b499b4c349"),
]


def without_changes(text: str) -> str:
    """Replaces text that differs in each run, and the characters that a terminal would interpret."""
    for pattern, stand_in in CHANGING:
        text = re.sub(pattern, stand_in, text)
    return text.replace("\x1b", "\\e").replace("\r", "\\r")


def on_terminal(home, command: str, typed: list[str]) -> tuple[str, int]:
    """Runs a command on a terminal; returns its output with the typed lines, and its exit status."""
    terminal, other = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    # A session of its own in the home, which may have other process IDs.
    process = subprocess.Popen(
        home.shell(command, "setsid", "--ctty", "--wait"), cwd=home.path, env=home.environment, stdin=other, stdout=other, stderr=other)
    os.close(other)
    # The output before the latest answer, and after it.
    before, since, echo = "", "", None
    answers = list(typed)
    deadline = time.monotonic() + LONGEST
    while True:
        if not select.select([terminal], [], [], max(deadline - time.monotonic(), 0))[0]:
            process.kill()
            raise AssertionError(f"{command} did not end; it showed:\n{before}{since}")
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # No process has the terminal open any more.
            break
        since += piece.decode().replace("\r\n", "\n")
        # The terminal echoes the typed text, or only the end of the line.
        if echo is not None and "\n" in since:
            since, echo = since.removeprefix(echo).removeprefix("\n"), None
        if answers and PROMPT.search(since):
            answer = answers.pop(0)
            os.write(terminal, answer.encode() + b"\n")
            before, since, echo = before + since.rstrip(" ") + f"\n? {answer}\n", "", answer
    os.close(terminal)
    if answers:
        raise AssertionError(f"{command} did not ask for {len(answers)} answers; it showed:\n{before}{since}")
    return before + since, process.wait(LONGEST)


def in_pipe(home, command: str, typed: list[str]) -> tuple[str, int]:
    """Runs a command without a terminal; returns its output and its exit status."""
    assert not typed, "prompts need a terminal"
    end = subprocess.run(
        home.shell(command), cwd=home.path, env=home.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=LONGEST, start_new_session=True)
    return end.stdout.decode(), end.returncode


def steps(text: str) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith("? "):
            found[-1][1].append(line[2:])
    return found


def carry_out(session: str, home, run) -> str:
    """Runs the commands of a session; returns the session as it went."""
    written = ""
    for command, typed in steps(session):
        written += f"$ {command}\n"
        if home.handles(command):
            continue
        shown, status = run(home, command, typed)
        shown = home.normal(shown)
        written += shown + ("\n" if shown and not shown.endswith("\n") else "")
        written += f"[exit status {status}]\n" if status else ""
    return written


def compare(path: Path, written: str, update: bool) -> str:
    """Returns how a run differs from the file of a session; `update` writes the run to the file instead."""
    if update:
        path.write_text(written)
    return "".join(difflib.unified_diff(
        path.read_text().splitlines(True), written.splitlines(True), path.name, "what was shown"))
