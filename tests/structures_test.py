#!/usr/bin/env python3
"""bench/structures: a small run works, and says what rows a structure reads."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAIRN = os.environ.get("CAIRN", str(ROOT / "build" / "cairn"))
ROWS = {"deepseek_v32": "picks", "falcon_h1": "all", "glm_moe_dsa": "picks", "mamba": "none", "minimax_m3_text": "all",
        "mistral_swa": "window"}


def structures(*arguments):
    command = [str(ROOT / "bench" / "structures"), "--cairn", CAIRN, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


class StructuresTest(unittest.TestCase):
    def test_a_small_run_measures_both_depths_and_names_the_rows_read(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch) / "out.json"
            done = structures("--only", f"^({'|'.join(ROWS)})$", "-n", "2", "-r", "1", "--json", str(path))
            self.assertEqual(done.returncode, 0, done.stderr)
            results = {result["name"]: result for result in json.loads(path.read_text())["results"]}
            self.assertEqual({name: result["rows"] for name, result in results.items()}, ROWS)
            for result in results.values():
                self.assertEqual(list(result["tokens_per_s"]), ["64", "4096"])
                self.assertGreater(min(result["tokens_per_s"].values()), 0)
            again = structures("--from", str(path))
            self.assertEqual(again.stdout, done.stdout)
            self.assertEqual(len(done.stdout.splitlines()), 2 + len(ROWS))

    def test_a_name_that_nothing_has_is_said(self):
        done = structures("--only", "no such model")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no such model", done.stderr)


if __name__ == "__main__":
    unittest.main()
