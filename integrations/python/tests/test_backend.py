"""keyring's own tests and ours, with a kistd of their own: KIST_PROGRAMS is where the programs are."""

import os
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from keyring import errors
from keyring.testing.backend import BackendBasicTests

from keyring_kist import KistKeyring, backend, client

PROGRAMS = Path(os.environ["KIST_PROGRAMS"]).resolve()


@pytest.fixture(autouse=True)
def kistd(tmp_path, monkeypatch):
    """A kistd with an encrypted file, for the length of a test."""
    for name in ("KIST_SOCKET", "DBUS_SESSION_BUS_ADDRESS", "PYTHON_KEYRING_BACKEND"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    process = subprocess.Popen([PROGRAMS / "kistd", "--storage", "encrypted-file"])
    for _ in range(2000):
        try:
            client.connect().close()
            break
        except client.KistError:
            time.sleep(0.005)
    yield process
    process.terminate()
    process.wait()


def kist(*words, **options):
    return subprocess.run([PROGRAMS / "kist", *words], check=True, text=True, **options)


class TestKeyring(BackendBasicTests):
    """What keyring asks of every backend."""

    def init_keyring(self):
        return KistKeyring()


def test_it_is_chosen_where_kistd_listens():
    assert KistKeyring.priority == 6


def test_what_a_person_saved_is_found_and_the_other_way_round():
    kist("save", "https://h/simple", "alice", input="hunter2")
    keyring = KistKeyring()
    assert keyring.get_password("https://h/simple", "alice") == "hunter2"
    assert keyring.get_password("https://h/simple/", "alice") == "hunter2"
    assert vars(keyring.get_credential("https://h/simple/", None)) == {
        "_username": "alice", "_password": "hunter2"}
    keyring.set_password("s", "bob", "x\ny")
    assert kist("load", "s", "bob", capture_output=True).stdout == "x\ny"


def test_what_another_tool_saved_is_not_given_and_stays():
    kist("save", "https://h", "alice", "--attribute", "tool=git", input="hunter2")
    assert KistKeyring().get_password("https://h", "alice") is None
    assert KistKeyring().get_credential("https://h", None) is None
    with pytest.raises(errors.PasswordDeleteError):
        KistKeyring().delete_password("https://h", "alice")
    with pytest.raises(errors.PasswordSetError, match="another tool"):
        KistKeyring().set_password("https://h", "alice", "new")
    assert kist("load", "https://h", "alice", capture_output=True).stdout == "hunter2"


def test_what_a_person_saved_keeps_its_label_and_attributes():
    kist("save", "s", "alice", "--label", "precious", "--attribute", "team=ops", input="old")
    KistKeyring().set_password("s", "alice", "new")
    found = client.ask("load", service="s", account="alice")["credential"]
    assert (found["secret"], found["label"], found["attributes"]) == ("new", "precious", {"team": "ops"})


def test_what_changes_meanwhile_is_not_replaced(monkeypatch):
    look = backend.stored

    def look_and_meddle(service, username=None):
        found = look(service, username)
        kist("save", "s", "alice", "--attribute", "tool=git", input="hunter2")
        return found

    monkeypatch.setattr(backend, "stored", look_and_meddle)
    with pytest.raises(errors.PasswordSetError):
        KistKeyring().set_password("s", "alice", "new")
    assert kist("load", "s", "alice", capture_output=True).stdout == "hunter2"


def test_without_a_user_the_newest_is_given():
    assert KistKeyring().get_password("s", None) is None
    KistKeyring().set_password("s", "alice", "hunter2")
    assert KistKeyring().get_password("s", None) == "hunter2"
    with pytest.raises(errors.PasswordSetError, match="no username"):
        KistKeyring().set_password("s", None, "new")
    with pytest.raises(errors.PasswordDeleteError, match="no username"):
        KistKeyring().delete_password("s", None)
    assert KistKeyring().get_password("s", "alice") == "hunter2"


def test_an_answer_in_many_pieces_has_one_deadline(tmp_path, monkeypatch):
    """A server that sends a byte at a time, each within the time, and never ends its line."""
    monkeypatch.setenv("KIST_SOCKET", str(tmp_path / "slow"))
    monkeypatch.setattr(client, "PATIENCE", 0.3)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "slow"))
        server.listen()

        def drip():
            connection, _ = server.accept()
            try:
                for _ in range(200):
                    connection.sendall(b" ")
                    time.sleep(0.02)
                connection.sendall(b"{}\n")
            except OSError:
                pass
            connection.close()

        thread = threading.Thread(target=drip)
        thread.start()
        with pytest.raises(errors.InitError, match="did not answer"):
            KistKeyring().get_password("s", "a")
        thread.join()


def test_a_list_that_repeats_itself_is_an_error(tmp_path, monkeypatch):
    """A server whose pages all name the same next one."""
    monkeypatch.setenv("KIST_SOCKET", str(tmp_path / "endless"))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "endless"))
        server.listen()
        server.settimeout(10)
        asked = []

        def repeat():
            for _ in range(20):
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    asked.append(connection.recv(4096))
                    connection.sendall(b'{"ok":true,"credentials":[],"next":"x"}\n')

        thread = threading.Thread(target=repeat)
        thread.start()
        with pytest.raises(errors.KeyringError, match="repeats"):
            KistKeyring().get_credential("s", None)
        assert len(asked) == 2
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_without_a_home_nothing_is_asked(monkeypatch):
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setenv("HOME", "")
    monkeypatch.setattr(client.os, "stat", lambda path: (_ for _ in ()).throw(FileNotFoundError()))
    with pytest.raises(client.KistError, match="HOME"):
        client.socket_path()


def test_names_with_control_characters_do_not_meet_others():
    keyring = KistKeyring()
    names = ["a\n", "a%0A", "%:a%0A", "%:", "a\x80", "é"]
    for name in names:
        keyring.set_password("s", name, "password of " + repr(name))
    for name in names:
        assert keyring.get_password("s", name) == "password of " + repr(name)
    assert keyring.get_credential("s", None).username in names


def test_bytes_that_are_no_text_are_an_error():
    kist("save", "s", "a", "--exact", input="\udcff", errors="surrogateescape")
    with pytest.raises(errors.KeyringError, match="not text"):
        KistKeyring().get_password("s", "a")


def test_locked_is_not_missing():
    kist("lock")
    for call in [
        lambda: KistKeyring().get_password("s", "a"),
        lambda: KistKeyring().get_credential("s", None),
        lambda: KistKeyring().set_password("s", "a", "p"),
        lambda: KistKeyring().delete_password("s", "a"),
    ]:
        with pytest.raises(errors.KeyringLocked):
            call()


def test_unreachable_is_not_missing(kistd):
    kistd.terminate()
    kistd.wait()
    for call in [
        lambda: KistKeyring().get_password("s", "a"),
        lambda: KistKeyring().get_credential("s", None),
        lambda: KistKeyring().set_password("s", "a", "p"),
        lambda: KistKeyring().delete_password("s", "a"),
    ]:
        with pytest.raises(errors.InitError):
            call()
    with pytest.raises(RuntimeError):
        KistKeyring.priority


def test_what_kistd_refuses_is_not_repeated():
    with pytest.raises(errors.PasswordSetError) as raised:
        KistKeyring().set_password("s" * 2000, "a", "hunter2")
    assert "sss" not in str(raised.value) and "hunter2" not in str(raised.value)
    with pytest.raises(errors.PasswordSetError):
        KistKeyring().set_password("s", "a", "x" * (600 << 10))
    with pytest.raises(errors.PasswordSetError, match="longer"):
        KistKeyring().set_password("s", "a", "x" * (2 << 20))


def test_a_secret_that_has_expired_is_an_error_and_another_is_given():
    kist("save", "s", "old", "--expires-in", "1s", input="x")
    time.sleep(1.1)
    with pytest.raises(errors.KeyringError, match="expired"):
        KistKeyring().get_password("s", "old")
    kist("save", "s", "new", input="y")
    kist("save", "s", "old", "--expires-at", "2020-01-01T00:00:00Z", input="x")
    assert KistKeyring().get_credential("s", None).username == "new"
