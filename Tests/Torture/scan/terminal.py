"""A terminal at which a program asks, and somebody types."""

import os
import pty
import signal
import time

PATIENCE = 20


class Terminal:
    """A program with a terminal of its own; its standard output may be elsewhere."""

    def __init__(self, words, environment, output=None):
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            if output is not None:
                os.dup2(output, 1)
            os.execve(words[0], [str(word) for word in words], environment)
        self.said = b""

    def type(self, answer, after):
        """Types a line once the program has asked, and so shows nothing that is typed any more."""
        end = time.monotonic() + PATIENCE
        while after not in self.said:
            if time.monotonic() > end:
                raise RuntimeError(f"the program did not ask: {self.said}")
            self.said += os.read(self.descriptor, 4096)
        os.write(self.descriptor, answer + b"\n")

    def end(self):
        """Waits for the end; gives the status, negative for a signal."""
        try:
            while piece := os.read(self.descriptor, 4096):
                self.said += piece
        except OSError:
            pass  # That is how a terminal ends.
        os.close(self.descriptor)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        self.end()
