#!/usr/bin/env python3
"""bench/formats runs from a model to its rows, and bytes are those of `cairn size`. $CAIRN is the program."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tiny_text_model

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAIRN = os.environ.get("CAIRN", str(ROOT / "build" / "cairn"))


class FormatsBenchTest(unittest.TestCase):
    def test_a_model_gives_rows_of_speed_and_of_memory(self):
        with tempfile.TemporaryDirectory() as scratch:
            model = pathlib.Path(scratch) / "tiny"
            model.mkdir()
            tiny_text_model.write(model)
            out = pathlib.Path(scratch) / "rows.json"
            command = [ROOT / "bench" / "formats", "--models", "smollm2", "--model-file", model, "--depths", 256,
                       "--tokens", 700, "-r", 1, "--cairn", CAIRN, "--json", out]  # fmt: skip
            done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=600)
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = {row["name"]: row for row in json.loads(out.read_text())["rows"]}
        memory = [row for name, row in rows.items() if name.endswith(": bytes")]
        self.assertEqual(len(memory), 4)
        for row in memory:
            self.assertTrue(row["met"], row)
        speed = [row for name, row in rows.items() if "high / f16" in name]
        self.assertEqual(len(speed), 2)
        for row in speed:
            self.assertGreater(row["value"], 0)
            self.assertIn(row["target"], (">= 1", ">= 0.85"))


if __name__ == "__main__":
    unittest.main()
