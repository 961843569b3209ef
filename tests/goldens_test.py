#!/usr/bin/env python3
"""tests/check_goldens on the goldens of this folder: what golden_test.cc can't compare, the numbers of the state and the
effect of every tensor."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"


def check(*arguments):
    return subprocess.run([sys.executable, str(ROOT / "tests" / "check_goldens"), *map(str, arguments)], capture_output=True,
                          text=True, check=False, env=os.environ)  # fmt: skip


class Goldens(unittest.TestCase):
    def test_every_golden_is_right_and_every_tensor_of_it_counts(self):
        run = check("--drop", GOLDEN)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        passed, total = map(int, re.search(r"(\d+) of (\d+) goldens pass", run.stdout).groups())
        self.assertEqual(passed, total)
        self.assertEqual(total, len(list(GOLDEN.glob("*/expected.safetensors"))))

    def test_a_wrong_weight_is_noticed(self):
        source = GOLDEN / "qwen3"
        with tempfile.TemporaryDirectory() as scratch:
            copy = pathlib.Path(scratch) / "qwen3"
            copy.mkdir()
            for path in source.iterdir():
                content = bytearray(path.read_bytes())
                if path.name == "model.safetensors":
                    content[-64:] = bytes(64)
                (copy / path.name).write_bytes(content)
            run = check(scratch)
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("FAIL qwen3: WRONG logits", run.stdout)


if __name__ == "__main__":
    unittest.main()
