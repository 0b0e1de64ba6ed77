"""The examples of docs/ci.md, with the commands as they are written there, in bare Debian systems. Needs root (`make test-dist`)."""

import hashlib
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml
from bare import DIST, System, blocks, tarball

PASSPHRASE = "correct horse battery staple"
SECRET = "hunter2-of-ci"
DIGEST = hashlib.sha256(SECRET.encode()).hexdigest()
# The command of the job proves that it has the secret and not the passphrase, without showing either.
PUBLISH = """#!/bin/sh
printf %s "$TOKEN" | sha256sum
[ -z "${KIST_PASSPHRASE+set}" ]
"""


def sealed():
    """Returns the file of `kist backup`, made as the page describes."""
    (programs,) = DIST.glob("kist-*/bin")
    with tempfile.TemporaryDirectory() as home:
        script = f"""
            printf %s {SECRET} | kist save registry.example ci
            echo '{PASSPHRASE}' | kist backup --replace "$HOME/secrets.kist"
            """
        subprocess.run(
            ["kistd", "--storage", "encrypted-file", "--data", home + "/ci-store", "--", "sh", "-ec", script], check=True,
            capture_output=True, env={"HOME": home, "PATH": f"{programs}:/usr/bin:/bin"})
        return Path(home, "secrets.kist").read_bytes()


class Examples:
    """The tests for each Debian; `tree` names the variable with its root directory."""

    @classmethod
    def setUpClass(cls):
        cls.sealed = sealed()

    def setUp(self):
        self.system = System(os.environ[self.tree])
        self.addCleanup(self.system.end)

    def example(self, heading):
        (text,) = blocks("ci.md", heading, "yaml")
        return yaml.load(text, yaml.BaseLoader)

    def put_repository(self, folder, user):
        self.system.put(f"{folder}/ci/secrets.kist", self.sealed, user=user)
        self.system.put(f"{folder}/publish", PUBLISH, mode=0o755, user=user)

    def build_image(self):
        """Builds the image of the page: ADD unpacks a tarball, and RUN starts a shell."""
        (dockerfile,) = blocks("ci.md", "The programs", "dockerfile")
        _, add, run = dockerfile.splitlines()
        self.assertEqual(add, "ADD kist.tar.gz /opt/")
        self.system.put("/tmp/kist.tar.gz", tarball().read_bytes())
        self.system.shell("tar --extract --file /tmp/kist.tar.gz --directory /opt; rm /tmp/kist.tar.gz")
        self.system.shell(run.removeprefix("RUN "))

    def check(self, end):
        self.assertEqual((end.returncode, end.stdout.split()[:1]), (0, [DIGEST]), end.stderr)
        for text in [SECRET, PASSPHRASE]:
            self.assertNotIn(text, end.stdout + end.stderr)
            self.assertEqual(self.system.holds(text), [])

    def test_github(self):
        steps = self.example("GitHub Actions")["jobs"]["publish"]["steps"]
        self.put_repository("/home/alice/work", user="alice")
        self.system.put("/home/alice/work/ci/kist.tar.gz", tarball().read_bytes(), user="alice")
        self.system.shell("mkdir temp; touch path", user="alice")
        common = {"RUNNER_TEMP": "/home/alice/temp", "GITHUB_PATH": "/home/alice/path"}
        path = "/usr/local/bin:/usr/bin:/bin"
        commands = [step for step in steps if "run" in step]
        self.assertEqual([step["name"] for step in commands], ["Install kist", "Publish"])
        for step in commands:
            variables = {
                name: value.replace("${{ secrets.KIST_PASSPHRASE }}", PASSPHRASE) for name, value in step.get("env", {}).items()}
            # GitHub runs a step with `bash -e`, and puts the lines of GITHUB_PATH before PATH.
            end = self.system.run(
                ["bash", "-e", "-c", step["run"]], user="alice", folder="/home/alice/work",
                variables=common | variables | {"PATH": path})
            self.assertEqual(end.returncode, 0, end.stderr)
            path = ":".join(self.system.shell("cat path", user="alice").splitlines() + [path])
        self.check(end)

    def test_gitlab(self):
        script = "\n".join(self.example("GitLab")["publish"]["script"])
        self.build_image()
        self.put_repository("/builds/project", user="root")
        self.check(self.system.run(
            ["bash", "-e", "-o", "pipefail", "-c", script], folder="/builds/project", variables={"KIST_PASSPHRASE": PASSPHRASE}))

    def test_a_wrong_passphrase_ends_the_job(self):
        script = "\n".join(self.example("GitLab")["publish"]["script"])
        self.build_image()
        self.put_repository("/builds/project", user="root")
        end = self.system.run(["sh", "-e", "-c", script], folder="/builds/project", variables={"KIST_PASSPHRASE": "wrong"})
        self.assertEqual((end.returncode, end.stdout), (11, ""), end.stderr)

    def test_kubernetes(self):
        """The volume of a secret consists of links, as kubelet makes them; the root directory is read-only."""
        pod = self.example("Kubernetes")["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        self.assertEqual(container["securityContext"]["readOnlyRootFilesystem"], "true")
        self.assertEqual(pod["securityContext"]["runAsUser"], "1000")
        self.build_image()
        self.system.put("/publish", PUBLISH, mode=0o755)
        data = self.system.folder / "data"
        data.mkdir()
        (data / "credentials.db").write_bytes(self.sealed)
        (data / "passphrase").write_text(PASSPHRASE)
        mounts = []
        for mount in container["volumeMounts"]:
            place = mount["mountPath"].lstrip("/")
            mounts.append(f"mkdir -p {place}; mount -t tmpfs -o mode=1777 tmpfs {place}")
            if "secret" in volumes[mount["name"]]:
                mounts.append(f"""
                    cp -r {data} {place}/..2027; chgrp -R 1000 {place}/..2027; chmod 440 {place}/..2027/*; chmod 750 {place}/..2027
                    ln -s ..2027 {place}/..data
                    for name in credentials.db passphrase; do ln -s ..data/$name {place}/$name; done
                    mount -o remount,ro {place}""")
        self.check(self.system.run(
            container["command"] + container["args"], user="alice", folder="/", mounts="\n".join(mounts), read_only=True,
            variables={variable["name"]: variable["value"] for variable in container["env"]}))


class Debian12(Examples, unittest.TestCase):
    tree = "KIST_DEBIAN_12"


class Debian13(Examples, unittest.TestCase):
    tree = "KIST_DEBIAN_13"


if __name__ == "__main__":
    unittest.main()
