"""Mail servers on 127.0.0.1 that run during a test, over TLS. They know one user: alice, with the password hunter2."""

import base64
import socketserver
import threading

from tls import over_tls


class MailServer(socketserver.ThreadingTCPServer):
    """A server that keeps the mail it receives, and counts logins that it refuses."""

    daemon_threads = True

    def __init__(self, handler, certificate, key):
        super().__init__(("127.0.0.1", 0), handler)
        over_tls(self, certificate, key)
        self.refused, self.received = 0, b""
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self):
        return self.server_address[1]

    def close(self):
        self.shutdown()
        self.server_close()


class Handler(socketserver.StreamRequestHandler):
    """A connection of lines. `answer(line)` answers one, and returns whether the connection goes on."""

    def handle(self):
        self.is_alice = False
        self.reply(self.greeting)
        while (line := self.rfile.readline().decode().strip()) and self.answer(line):
            pass

    def reply(self, *lines):
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())

    def log_in(self, answer):
        """Checks the answer of SASL's method PLAIN, which may begin with the user to act for."""
        self.is_alice = base64.b64decode(answer).split(b"\0")[1:] == [b"alice", b"hunter2"]
        self.server.refused += not self.is_alice


class SMTP(Handler):
    greeting = "220 mail.example ESMTP"

    def answer(self, line):
        command, *words = line.split()
        if command == "EHLO":
            self.reply("250-mail.example", "250 AUTH PLAIN")
        elif command == "AUTH":
            self.log_in(words[1])
            self.reply("235 welcome" if self.is_alice else "535 refused")
        elif command == "QUIT":
            self.reply("221 bye")
            return False
        elif not self.is_alice:
            self.reply("530 log in first")
        elif command == "DATA":
            self.reply("354 go on")
            while (line := self.rfile.readline()) not in [b".\r\n", b""]:
                self.server.received += line
            self.reply("250 accepted")
        else:
            self.reply("250 ok")
        return True


class IMAP(Handler):
    greeting = "* OK [CAPABILITY IMAP4rev1 AUTH=PLAIN SASL-IR] mail.example"

    def answer(self, line):
        tag, command, *words = line.split()
        if command == "AUTHENTICATE":
            self.log_in(words[1])
            self.reply(f"{tag} OK welcome" if self.is_alice else f"{tag} NO refused")
        elif command == "LOGOUT":
            self.reply("* BYE", f"{tag} OK")
            return False
        elif not self.is_alice:
            self.reply(f"{tag} NO log in first")
        else:
            if command == "LIST":
                self.reply('* LIST () "/" INBOX')
            self.reply(f"{tag} OK")
        return True
