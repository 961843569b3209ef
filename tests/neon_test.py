#!/usr/bin/env python3
"""The kernels and what they stand on compile for ARM with NEON, though nothing here can run them."""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import unittest

FLAGS = ("--target=aarch64-linux-gnu", "-fsyntax-only", "-std=c++23", "-DFMT_HEADER_ONLY", "-I.")
# Third-party headers that don't depend on the architecture.
SYSTEM_INCLUDES = ("/usr/include",)


def sources():
    everything = sorted(path for folder in ("base", "kernels") for path in pathlib.Path("cairn", folder).glob("*.cc"))
    ours = [path for path in everything if not re.search(r"_(test|bench|fuzz)$|^test_main$", path.stem)]
    # What stands on a library that is here for this machine alone has no code of its own for an architecture.
    return [path for path in ours if "#include <openssl/" not in path.read_text()]


def compile_errors(path):
    includes = [folder for folder in os.environ["HIGHWAY"].split(":") if folder]
    system = [part for folder in (*includes, *SYSTEM_INCLUDES) for part in ("-isystem", folder)]
    done = subprocess.run(["clang++-19", *FLAGS, *system, str(path)], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"{path}:\n{done.stderr}"


class Neon(unittest.TestCase):
    def test_every_kernel_compiles_for_arm(self):
        paths = sources()
        self.assertGreater(len(paths), 20)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            errors = [text for text in pool.map(compile_errors, paths) if text]
        self.assertEqual("\n".join(errors), "")


if __name__ == "__main__":
    unittest.main()
