"""Tools that get a secret from kist by their own configuration, with the commands of docs/tools.md."""

import getpass
import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from mail import IMAP, SMTP, MailServer
from servers import Server, basic
from tls import certificate
from world import IntegrationTest, needs

PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text()


def documented(tool):
    """Returns the blocks of commands in the section of a tool."""
    section = PAGE.split(f"\n## {tool}\n")[1].split("\n## ")[0]
    return re.findall("^```\n(.*?)^```$", section, re.M | re.S)


@needs("strace")
class ToolTest(IntegrationTest):
    """A test of a tool. No process that a command starts may have the secret in its arguments."""

    def save(self, service, account, secret="hunter2"):
        self.run_("kist", "save", service, account, input=secret)

    def shell(self, commands, **options):
        trace = self.world.home / "trace"
        strace = ["strace", "-f", "-qq", "--seccomp-bpf", "-e", "trace=execve,execveat", "-s", str(1 << 20), "-o", trace]
        end = self.run_(*strace, "bash", "-e", "-c", commands, **options)
        started = trace.read_text()
        self.assertIn('execve("/', started)
        self.assertNotIn("hunter2", started, "the secret is an argument")
        return end


class Arguments(ToolTest):
    def test_a_command_with_the_secret_in_its_arguments_is_found(self):
        self.save("restic", "home")
        with self.assertRaisesRegex(AssertionError, "the secret is an argument"):
            self.shell('sh -c "exec env true \\"$(kist load restic home)\\""')

    def test_every_tool_of_the_page_that_was_tried_has_a_test(self):
        tried = re.findall(r"^\| ([a-z-]+)[^|]*\| [^|]*\(#[a-z-]+\) \| \d", PAGE, re.M | re.I)
        sections = re.findall("^## (.*)$", PAGE, re.M)
        self.assertEqual([tool.lower() for tool in tried], [section.lower() for section in sections])
        tests = " ".join(name for group in ToolTest.__subclasses__() for name in dir(group))
        for tool in tried:
            self.assertIn("test_" + tool.lower().replace("-", "_"), tests)


class Passwords(ToolTest):
    @needs("restic")
    def test_restic_opens_its_repository_only_with_the_stored_password(self):
        self.shell(documented("restic")[0], fails=True)
        self.save("restic", "home")
        self.shell(documented("restic")[0])
        self.run_("restic", "snapshots", "--repo", "backup", RESTIC_PASSWORD="hunter2")
        self.run_("restic", "snapshots", "--repo", "backup", RESTIC_PASSWORD="wrong", fails=True)

    @needs("borg")
    def test_borg_opens_its_repository_only_with_the_stored_password(self):
        self.shell(documented("borg")[0].replace("./backup", "./without"), fails=True)
        self.save("borg", "home")
        self.shell(documented("borg")[0])
        self.run_("borg", "list", "backup", BORG_PASSPHRASE="hunter2")
        self.run_("borg", "list", "backup", BORG_PASSPHRASE="wrong", fails=True)

    @needs("ansible-vault", "(ansible-core)")
    def test_ansible_vault_encrypts_with_the_stored_password(self):
        secrets = self.world.home / "secrets.yml"
        secrets.write_text("key: value\n")
        self.shell(documented("ansible-vault")[0], fails=True)
        self.save("ansible-vault", "prod")
        self.shell(documented("ansible-vault")[0])
        self.assertIn("$ANSIBLE_VAULT", secrets.read_text())
        (self.world.home / "same").write_text("hunter2")
        opened = self.run_("ansible-vault", "view", "--vault-password-file", "same", "secrets.yml")
        self.assertEqual(opened.stdout.strip(), "key: value")


    @needs("rclone")
    def test_rclone_reads_its_encrypted_configuration_only_with_the_stored_password(self):
        self.run_("rclone", "config", "create", "store", "alias", "remote=/")
        # rclone asks for a password only at a terminal, which `script` provides.
        answers = "s\na\nhunter2\nhunter2\nq\nq\n"
        self.run_("script", "--quiet", "--return", "--command", "rclone config", "/dev/null", input=answers)
        self.shell(documented("rclone")[0], fails=True)
        self.save("rclone", "config")
        self.assertEqual(self.shell(documented("rclone")[0]).stdout, "store:\n")


class Databases(ToolTest):
    """Each server listens only on a socket in the home, or in a directory of its user."""

    SERVERS = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))

    def start_postgres(self):
        """Starts a server that needs the password of alice; returns the directory of its socket."""
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        self.addCleanup(self.world.end)
        (folder / "password").write_text("hunter2")
        programs = self.SERVERS[-1].parent
        user = ["env", "--chdir=/"]
        if os.geteuid() == 0:
            # The server does not run as root.
            user += ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            for path in [folder, folder / "password"]:
                shutil.chown(path, "postgres", "postgres")
        self.run_(
            *user, programs / "initdb", "--pgdata", folder / "data", "--username=alice", f"--pwfile={folder}/password",
            "--auth=scram-sha-256", "--no-sync", "--encoding=UTF8")
        self.world.start(
            *user, programs / "postgres", "-D", folder / "data", "-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}",
            "-c", "fsync=off")
        self.world.wait(
            "postgres answers", lambda: self.run_(programs / "pg_isready", "--host", folder, fails=None).returncode == 0)
        return folder

    @needs("psql", "(postgresql)", where=SERVERS and shutil.which("psql"))
    def test_psql_logs_in_with_the_stored_password_file(self):
        command = documented("psql")[0].replace("db.example", str(self.start_postgres()))
        question = {"input": "select current_user;\n"}
        self.shell(command, fails=True, **question)
        self.save("pgpass", "alice", "*:*:*:alice:wrong")
        self.assertIn("password authentication failed", self.shell(command, fails=True, **question).stderr)
        self.save("pgpass", "alice", "*:*:*:alice:hunter2")
        self.assertIn(" alice", self.shell(command, **question).stdout)

    def start_mariadb(self):
        """Starts a server that needs the password of alice; returns its socket."""
        data, socket = self.world.home / "data", self.world.home / "socket"
        common = ["--no-defaults", f"--datadir={data}", f"--user={getpass.getuser()}"]
        self.run_("mariadb-install-db", *common, "--auth-root-authentication-method=normal", "--skip-test-db")
        self.world.start("mariadbd", *common, f"--socket={socket}", "--skip-networking", "--innodb-flush-log-at-trx-commit=0")
        root = ["mariadb", "--no-defaults", f"--socket={socket}", "--user=root"]
        self.world.wait("mariadbd answers", lambda: self.run_(*root, input="select 1", fails=None).returncode == 0)
        self.run_(*root, input="create user alice@localhost identified by 'hunter2'")
        return socket

    @needs("mariadbd", "(mariadb-server-core)")
    @needs("mariadb", "(mariadb-client-core)")
    def test_mariadb_logs_in_with_the_stored_option_file(self):
        save, command = documented("mariadb")
        command = command.replace("--host db.example", f"--socket {self.start_mariadb()}")
        question = {"input": "select current_user()"}
        self.shell(command, fails=True, **question)
        self.shell(save, PASSWORD="wrong")
        self.assertIn("Access denied", self.shell(command, fails=True, **question).stderr)
        self.shell(save, PASSWORD="hunter2")
        self.assertIn("alice@localhost", self.shell(command, **question).stdout)


class Mail(ToolTest):
    def start_server(self, handler):
        server = MailServer(handler, *certificate(self.world, "mail"))
        self.addCleanup(server.close)
        return server

    def configure(self, name, text):
        """Writes a configuration file, which only the user may read, as the tools require."""
        file = self.world.home / name
        file.touch(mode=0o600)
        file.write_text(text)

    @needs("msmtp")
    def test_msmtp_sends_mail_with_the_stored_password(self):
        server = self.start_server(SMTP)
        lines, command = documented("msmtp")
        lines = lines.replace("smtp.example\n", "localhost\n", 1).replace("port 465", f"port {server.port}")
        self.configure(".msmtprc", f"{lines}tls_trust_file {self.world.home}/mail.crt\n")
        self.shell(command, fails=True)
        self.save("smtp.example", "alice", "wrong")
        self.shell(command, fails=True)
        self.assertEqual(server.refused, 1)
        self.save("smtp.example", "alice")
        self.shell(command)
        self.assertIn(b"Subject: hello", server.received)

    @needs("mbsync", "(isync)")
    def test_mbsync_reads_mailboxes_with_the_stored_password(self):
        server = self.start_server(IMAP)
        lines, command = documented("mbsync")
        (self.world.home / "mail").mkdir()
        lines = lines.replace("Host imap.example", f"Host localhost\nPort {server.port}\nCertificateFile {self.world.home}/mail.crt")
        self.configure(".mbsyncrc", lines)
        self.shell(command, fails=True)
        self.save("imap.example", "alice", "wrong")
        self.shell(command, fails=True)
        self.assertEqual(server.refused, 1)
        self.save("imap.example", "alice")
        self.assertIn("INBOX", self.shell(command).stdout)


class Requests(ToolTest):
    def setUp(self):
        super().setUp()
        answer = lambda handler, _: handler.reply(200, b'{"login":"alice","username":"alice"}')
        allowed = {"Bearer hunter2", "token hunter2", basic("alice", "hunter2")}
        self.server = Server(answer, allowed, 'Basic realm="api"')
        self.addCleanup(self.server.close)
        self.here = f"127.0.0.1:{self.server.port}"

    @needs("curl")
    def test_curl_sends_the_stored_token(self):
        command = documented("curl")[0].replace("https://api.example/", f"http://{self.here}/")
        self.shell(command, fails=True)
        self.save("https://api.example", "alice")
        self.assertIn("alice", self.shell(command).stdout)

    @needs("wget")
    def test_wget_sends_the_account_and_the_stored_password(self):
        command = documented("wget")[0].replace("https://api.example/", f"http://{self.here}/")
        self.shell(command, fails=True)
        self.save("api.example", "alice")
        self.shell(command)
        self.assertIn("alice", (self.world.home / "me").read_text())

    @needs("npm")
    def test_npm_sends_the_stored_token(self):
        line, command = documented("npm")
        (self.world.home / ".npmrc").write_text(
            f"registry=http://{self.here}/\n" + line.replace("registry.example", self.here))
        self.shell(command, fails=True)
        self.save("npm", "alice")
        self.assertEqual(self.shell(command).stdout.strip(), "alice")

    @needs("mvn", "(maven)")
    def test_maven_sends_the_account_and_the_stored_password(self):
        """Maven fetches the parent of a project, for which it needs no plugin."""
        settings, command = documented("Maven")
        parent = "<groupId>example</groupId><artifactId>parent</artifactId><version>1</version>"
        project = "<project><modelVersion>4.0.0</modelVersion>{}<packaging>pom</packaging>{}</project>"
        self.server.answer = lambda handler, _: (
            handler.reply(200, project.format(parent, "").encode()) if handler.path.endswith(".pom") else handler.reply(404))
        (self.world.home / "pom.xml").write_text(project.format(
            f"<parent>{parent}<relativePath/></parent><artifactId>app</artifactId>",
            f"<repositories><repository><id>repo.example</id><url>http://{self.here}/</url></repository></repositories>"))
        (self.world.home / ".m2").mkdir()
        (self.world.home / ".m2" / "settings.xml").write_text(settings)
        # Java ignores HOME.
        options = {"MAVEN_OPTS": f"-Duser.home={self.world.home}"}
        # With `-U`, Maven asks again for what it did not get.
        command = command.replace("mvn deploy", "mvn --batch-mode -U validate")
        self.save("maven", "alice", "wrong")
        self.shell(command, fails=True, **options)
        self.assertEqual(self.server.refused, 1)
        self.save("maven", "alice")
        self.shell(command, **options)
        self.assertIn(("GET", "/example/parent/1/parent-1.pom", basic("alice", "hunter2")), self.server.seen)

    @needs("gradle")
    def test_gradle_sends_the_account_and_the_stored_password(self):
        """Gradle fetches a dependency, for which it needs no plugin."""
        repositories, command = documented("Gradle")
        module = b"<project><modelVersion>4.0.0</modelVersion><groupId>example</groupId><artifactId>lib</artifactId><version>1</version></project>"
        self.server.answer = lambda handler, _: (
            handler.reply(200, module) if handler.path.endswith(("/lib-1.pom", "/lib-1.jar")) else handler.reply(404))
        (self.world.home / "build.gradle").write_text(
            repositories.replace("https://repo.example/maven", f"http://{self.here}")
            + "configurations { needed }\ndependencies { needed 'example:lib:1' }\n"
            + "task build { doLast { configurations.needed.files } }\n")
        (self.world.home / "settings.gradle").touch()
        # Java ignores HOME.
        options = {"GRADLE_USER_HOME": str(self.world.home / "gradle"), "JAVA_TOOL_OPTIONS": f"-Duser.home={self.world.home}"}
        self.save("gradle", "alice", "wrong")
        self.shell(command, fails=True, **options)
        self.assertEqual(self.server.refused, 1)
        self.save("gradle", "alice")
        self.shell(command, **options)
        self.assertIn(("GET", "/example/lib/1/lib-1.pom", basic("alice", "hunter2")), self.server.seen)

    @needs("gh")
    def test_gh_sends_the_stored_token(self):
        options = {"GH_HOST": "github.localhost", "HTTP_PROXY": f"http://{self.here}"}
        self.shell(documented("gh")[0], fails=True, **options)
        self.save("github.com", "alice")
        self.assertIn("alice", self.shell(documented("gh")[0], **options).stdout)


if __name__ == "__main__":
    unittest.main()
