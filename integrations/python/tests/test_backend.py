"""keyring's own tests and ours, with a kistd of their own: KIST_PROGRAMS is where the programs are."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from keyring import errors
from keyring.testing.backend import BackendBasicTests

from keyring_kist import KistKeyring, client

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


def test_a_secret_that_has_expired_is_an_error_and_another_is_given():
    kist("save", "s", "old", "--expires-in", "1s", input="x")
    time.sleep(1.1)
    with pytest.raises(errors.KeyringError, match="expired"):
        KistKeyring().get_password("s", "old")
    kist("save", "s", "new", input="y")
    kist("save", "s", "old", "--expires-at", "2020-01-01T00:00:00Z", input="x")
    assert KistKeyring().get_credential("s", None).username == "new"
