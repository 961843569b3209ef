#!/usr/bin/env python3
"""The kernels and what they stand on compile for ARM with NEON, though nothing here can run them."""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

FLAGS = ("--target=aarch64-linux-gnu", "-fsyntax-only", "-std=c++23", "-DFMT_HEADER_ONLY", "-I.")
# Third-party headers that don't depend on the architecture.
SYSTEM_INCLUDES = ("/usr/include",)


def sources():
    everything = sorted(path for folder in ("base", "kernels") for path in pathlib.Path("cairn", folder).glob("*.cc"))
    return [path for path in everything if not re.search(r"_(test|bench|fuzz)$|^test_main$", path.stem)]


def openssl_config(folder):
    """Debian keeps OpenSSL's configuration with the architecture; this machine's says the same of what is used."""
    for path in pathlib.Path("/usr/include").glob("*-linux-gnu/openssl/*.h"):
        link = folder / "openssl" / path.name
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(path)
    return folder


def compile_errors(path, more_includes):
    includes = [*(folder for folder in os.environ["HIGHWAY"].split(":") if folder), str(more_includes)]
    system = [part for folder in (*includes, *SYSTEM_INCLUDES) for part in ("-isystem", folder)]
    done = subprocess.run(["clang++-19", *FLAGS, *system, str(path)], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"{path}:\n{done.stderr}"


class Neon(unittest.TestCase):
    def test_every_kernel_compiles_for_arm(self):
        paths = sources()
        self.assertGreater(len(paths), 20)
        with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            openssl = openssl_config(pathlib.Path(scratch))
            errors = [text for text in pool.map(lambda path: compile_errors(path, openssl), paths) if text]
        self.assertEqual("\n".join(errors), "")


if __name__ == "__main__":
    unittest.main()
