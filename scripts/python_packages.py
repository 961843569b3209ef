#!/usr/bin/env python3
"""Installs what tests/requirements.txt names into build/python, where the tests look for it."""

import pathlib
import shutil
import subprocess
import sys

import fetch

ROOT = pathlib.Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "tests" / "requirements.txt"
FOLDER = ROOT / "build" / "python"
ATTEMPTS = 3


def install(folder=FOLDER, requirements=REQUIREMENTS, run=subprocess.run):
    """Into a folder that is made anew; a file in it tells for which requirements."""
    done = folder / "installed.txt"
    if done.exists() and done.read_text() == requirements.read_text():
        return
    command = fetch.pip_command() + ["install", "--quiet", "--no-deps", "--only-binary", ":all:", "--disable-pip-version-check",
                                     "--root-user-action", "ignore", "--target", str(folder), "-r", str(requirements)]  # fmt: skip
    for _ in range(ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        ended = run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if ended.returncode == 0:
            done.write_text(requirements.read_text())
            return
    raise fetch.Failure(f"{requirements.name} could not be installed: {fetch.reason(ended.stderr)}")


if __name__ == "__main__":
    try:
        install()
    except fetch.Failure as failure:
        sys.exit(f"python_packages: {failure}")
