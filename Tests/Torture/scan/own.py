"""The memory of kist while it waits."""

import json
import subprocess
import time

from scan.marks import Marks
from scan.memory import regions_with, scan
from scan.served import Served

PATIENCE = 20
REGISTRY = {"index-url": "sparse+https://registry.example/", "name": "example"}
SIZES = (40, 3000, 200_000)


def look(row, context):
    with Served(context, "own") as served:
        environment = served.kistd.environment | {"KIST_SOCKET": str(served.kistd.socket)}
        look_at_helper(row, context, served, environment)
        look_at_run(row, context, served, environment)


def look_at_helper(row, context, served, environment):
    """Checks the helper of cargo, which answers several lines: it keeps no secret of an answered line."""
    held = Marks(context.random("half a line"))
    helper = subprocess.Popen([context.kist, "helper", "cargo"], env=environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)

    def ask(**request):
        helper.stdin.write(json.dumps({"v": 1, "registry": REGISTRY} | request).encode() + b"\n")
        return json.loads(answers.readline())

    with helper, helper.stdout as stdout, open(stdout.fileno(), "rb", closefd=False) as answers:
        answers.readline()
        for size in SIZES:
            token = served.marks.secret(size).decode()
            replies = [ask(kind="login", token=token), ask(kind="get", operation="read"), ask(kind="login", token=[token])]
            if replies[1].get("Ok", {}).get("token") != token or "Err" not in replies[2]:
                row.wrong.append("kist helper cargo gave a wrong answer")
        helper.stdin.write(b'{"v":1,"kind":"login","token":"' + held.secret(200))
        end = time.monotonic() + PATIENCE
        while not (found := scan(helper.pid, served.marks, held))[1]:
            if time.monotonic() > end:
                raise RuntimeError("a scan did not find the secret that kist holds")
        row.tries += len(SIZES)
        row.wrong += [f"kist helper cargo: {each}" for each in found[0]]
        helper.stdin.close()
    served.look(row, "kist helper cargo")


def look_at_run(row, context, served, environment):
    """Checks that a kist that waits for its command keeps no secret of the command."""
    runtime = "/dev/shm/" + context.folder.name
    subprocess.run(["mkdir", "-m", "700", runtime], check=True)
    words = []
    with served.kistd.connect() as connection:
        for size in SIZES:
            connection.ask(op="save", service="run", account=str(size), secret=served.marks.secret(size).decode())
            words += ["--file", f"F{size}=kist://run/{size}"] + ["--env", f"E{size}=kist://run/{size}"] * (size < 100_000)
    planted = b"what kist has in its environment"
    command = [context.kist, "run", *words, "--", "sh", "-c", "echo ready; read end"]
    with subprocess.Popen(command, env=environment | {"XDG_RUNTIME_DIR": runtime, "PLANTED": planted.decode()},
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        running.stdout.readline()
        if not regions_with(running.pid, planted):
            raise RuntimeError("a scan did not find the secret that kist has")
        row.tries += len(SIZES)
        row.wrong += [f"kist run: {each}" for each in scan(running.pid, served.marks)[0]]
        running.stdin.close()
    subprocess.run(["rmdir", runtime], check=True)
    served.look(row, "kist run")
