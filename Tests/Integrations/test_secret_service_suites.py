"""The own tests of libraries that use a keyring, with kist-secret-service as the keyring."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from secret_service import ServiceTest, imports
from world import needs

GI = Path("/usr/lib/python3/dist-packages/gi")


def sources(name, version):
    """Returns a new folder with the sources of a package of PyPI."""
    folder = Path(tempfile.mkdtemp())
    subprocess.run(
        ["python", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", ":all:",
         "--dest", folder, f"{name}=={version}"], check=True)
    archive, = folder.iterdir()
    subprocess.run(["tar", "--extract", "--file", archive, "--directory", folder], check=True)
    return folder / archive.name.removesuffix(".tar.gz")


@needs("Python's keyring and pytest", where=imports("keyring", "secretstorage", "pytest"))
class OwnTests(ServiceTest):
    def sources(self, name, version):
        folder = sources(name, version)
        self.addCleanup(shutil.rmtree, folder.parent)
        return folder

    def test_of_SecretStorage_pass(self):
        """It skips only the tests for its own mock."""
        for version in ["3.3.3", "3.5.0"]:
            with self.subTest(version):
                end = self.run_("python", self.sources("SecretStorage", version) / "tests" / "run_tests.py")
                count, = map(int, re.findall(r"^Ran (\d+) tests", end.stderr, re.M))
                reasons = re.findall(r"skipped '(.*)'", end.stderr)
                self.assertGreater(count, 25)
                self.assertEqual(len(reasons), 6)
                for reason in reasons:
                    self.assertRegex(reason, r"should only be run with (mock-service-lock|the mocked server)")
                # The tests rename the collection.
                self.assertLessEqual(set(self.world.credentials()), {("kist:collection", "login")})

    def keyring(self, backend, collection, **env):
        """Runs the tests of a backend of Python's keyring in a collection; they use the collection session."""
        folder = self.sources("keyring", "25.7.0")
        test = folder / "tests" / "backends" / f"test_{backend}.py"
        text = test.read_text()
        self.assertEqual(text.count("session'"), 1)
        test.write_text(text.replace("session'", collection + "'"))
        end = self.run_(
            "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", folder, test, **env)
        self.assertRegex(end.stdout, r"(?m)^1\d passed in ", "a test was skipped")

    def test_of_keyring_pass(self):
        for collection in ["session", "login"]:
            with self.subTest(collection):
                self.keyring("SecretService", collection)

    @needs("GObject Introspection of libsecret", "(python3-gi, gir1.2-secret-1)", where=GI.is_dir())
    def test_of_keyrings_backend_of_libsecret_pass(self):
        """It skips nothing, so it finds libsecret."""
        (self.world.home / "packages").mkdir()
        (self.world.home / "packages" / "gi").symlink_to(GI)
        for collection in ["session", "default"]:
            with self.subTest(collection):
                self.keyring("libsecret", collection, PYTHONPATH=f"{self.world.home}/packages")
