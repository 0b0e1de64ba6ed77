"""Where the socket is, by the cases that kist itself is held to."""

import json
import os
import socket
import threading
from pathlib import Path

import pytest

from keyring_kist import client

CASES = json.loads((Path(__file__).parents[3] / "Tests" / "socket-places.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["why"])
def test_the_socket_is_at_the_first_place_that_the_rule_names(case, monkeypatch):
    for name in ("KIST_SOCKET", "XDG_RUNTIME_DIR", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in case["environment"].items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(
        client, "is_our_directory", lambda path: path == "/run/user/1000" and case["runtimeDirectoryIsOurs"])
    if case["path"] is None:
        with pytest.raises(client.KistError, match="KIST_SOCKET"):
            client.socket_path()
    else:
        assert client.socket_path() == case["path"]


@pytest.mark.parametrize("uid, rows, expected", [
    (65534, "0 0 4294967295", False), (65534, "1000 1000 1", True), (65534, "0 1000 1\n1 100000 65536", True),
    (65534, "", True), (1000, "1000 1000 1", False)])
def test_a_uid_of_several_users_is_recognised(uid, rows, expected, monkeypatch):
    monkeypatch.setattr(
        client, "text_of", {"/proc/sys/kernel/overflowuid": "65534\n", "/proc/self/uid_map": rows}.get)
    assert client.represents_other_users(uid) is expected


def test_a_full_queue_of_clients_is_waited_for(tmp_path, monkeypatch):
    path = str(tmp_path / "s")
    monkeypatch.setenv("KIST_SOCKET", path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(0)
        with client.connect(), pytest.raises(client.KistError, match="did not answer"):
            client.connect(patience=0.05)
        later = threading.Timer(0.05, listener.accept)
        later.start()
        client.connect().close()
        later.join()


def test_a_directory_is_ours_where_it_is_one_and_we_own_it(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    assert client.is_our_directory(tmp_path)
    assert not client.is_our_directory(tmp_path / "file")
    assert not client.is_our_directory(tmp_path / "missing")
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(tmp_path).st_uid + 1)
    assert not client.is_our_directory(tmp_path)
