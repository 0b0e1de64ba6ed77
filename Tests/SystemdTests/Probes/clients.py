"""Runs a hundred clients that save without a pause until their connections end.

Prints "busy" once each client has saved something. When all have ended, prints a line for each
acknowledged save and for each incomplete reply, with the account."""

import json
import os
import socket
import sys
import threading

path = os.environ["XDG_RUNTIME_DIR"] + "/kist/kist.sock"
count = 100
lock = threading.Lock()
saving = threading.Barrier(count + 1)
lines = []


def client(number):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    replies = connection.makefile("rb")
    for save in range(1000000):
        account = f"{number}-{save}"
        request = {"op": "save", "service": "busy", "account": account, "secret": "pw"}
        try:
            connection.sendall(json.dumps(request).encode() + b"\n")
            reply = replies.readline()
        except OSError:
            return
        if not reply:
            return
        with lock:
            if not reply.endswith(b"\n"):
                lines.append("half " + account)
            elif json.loads(reply)["ok"]:
                lines.append("saved " + account)
        if save == 0:
            saving.wait()


threads = [threading.Thread(target=client, args=(number,)) for number in range(count)]
for thread in threads:
    thread.start()
saving.wait()
print("busy", flush=True)
for thread in threads:
    thread.join()
print("\n".join(lines))
