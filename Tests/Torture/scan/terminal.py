"""A terminal at which a program prompts, with simulated input."""

import os
import pty
import select
import signal
import time

PATIENCE = 20


class Terminal:
    """A program with its own terminal; its standard output may be elsewhere."""

    def __init__(self, words, environment, output=None):
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            if output is not None:
                os.dup2(output, 1)
            os.execve(words[0], [str(word) for word in words], environment)
        self.said = b""

    def type(self, answer, after):
        """Types a line once the program has prompted, and so has disabled the echo."""
        end = time.monotonic() + PATIENCE
        while after not in self.said:
            if not select.select([self.descriptor], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError(f"the program did not prompt: {self.said}")
            self.said += os.read(self.descriptor, 4096)
        os.write(self.descriptor, answer + b"\n")

    def end(self):
        """Waits until the program ends; returns its status, negative for a signal."""
        try:
            while piece := os.read(self.descriptor, 4096):
                self.said += piece
        except OSError:
            pass  # Linux reports the end of a terminal this way.
        os.close(self.descriptor)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        self.end()
