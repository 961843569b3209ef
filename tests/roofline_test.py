#!/usr/bin/env python3
"""`cairn bench --roofline`: parts add up to the whole, bytes are those that sizing predicts."""

import json
import os
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAIRN = os.environ.get("CAIRN", str(ROOT / "build" / "cairn"))
MODEL = ROOT / "tests" / "golden" / "gemma3_text"


def cairn(*arguments):
    done = subprocess.run([CAIRN, *arguments], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


class RooflineTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        flags = ("-p", "24", "-n", "1", "-d", "0,40", "--sequences", "2", "-r", "3", "-t", "1", "--roofline")
        cls.rows = json.loads(cairn("bench", "-m", str(MODEL), *flags, "-o", "json"))

    def test_every_test_has_its_bounds_and_the_parts_add_up_to_its_time(self):
        self.assertEqual(len(self.rows), 4)
        for row in self.rows:
            roofline = row["roofline"]
            parts = {part["name"]: part for part in roofline["parts"]}
            self.assertEqual(list(parts), ["matrix products", "attention", "all"])
            self.assertEqual(parts["all"]["time_us"], roofline["elapsed_us"])
            self.assertIn(roofline["elapsed_us"] * 1000, row["samples_ns"])
            measured = parts["matrix products"]["time_us"] + parts["attention"]["time_us"] + roofline["rest_us"]
            self.assertEqual(measured, roofline["elapsed_us"])
            self.assertGreaterEqual(roofline["rest_us"], 0)
            for part in parts.values():
                if "target" in part:
                    self.assertEqual(part["met"], part["share"] >= part["target"])

    def test_each_kind_of_test_has_its_targets(self):
        targets = {
            (row["n_prompt"] > 0, row["n_depth"]): {p["name"] for p in row["roofline"]["parts"] if "target" in p}
            for row in self.rows
        }
        self.assertEqual(targets[True, 0], {"matrix products"})
        self.assertEqual(targets[True, 40], {"matrix products", "attention"})
        self.assertEqual(targets[False, 0], {"all"})
        self.assertEqual(targets[False, 40], {"attention", "all"})

    def test_a_token_reads_every_weight_once_and_the_state_that_sizing_predicts(self):
        for row in self.rows:
            if row["n_gen"] == 0:
                continue
            self.assertEqual(row["roofline"]["weight_bytes"], row["model_size"])
            if row["n_depth"] == 0:
                continue
            size = json.loads(cairn("size", str(MODEL), "--context", "40", "--batch", "2", "-ctk", "f16", "-ctv", "f16",
                                    "--json"))["bounds"]  # fmt: skip
            predicted = size["state_read_bytes"] + size["state_written_bytes"]
            self.assertEqual(row["roofline"]["state_bytes"], predicted)

    def test_limits_are_positive_and_the_best_is_not_below_the_median(self):
        limits = self.rows[0]["roofline"]["limits"]
        rates = [value for value in limits.values() if isinstance(value, dict)]
        self.assertEqual(len(rates), 4)
        for rate in rates:
            self.assertGreater(rate["median"], 0)
            self.assertGreaterEqual(rate["best"], rate["median"])

    def test_the_table_names_limits_parts_and_targets(self):
        text = cairn("bench", "-m", str(MODEL), "-p", "8", "-n", "2", "-r", "1", "-t", "1", "--roofline")
        self.assertIn("Limits of 1 thread:", text)
        self.assertRegex(text, r"\| pp8 \| matrix products \|.*>= 50 %: (met|missed) \|")
        self.assertRegex(text, r"\| tg2 \| all \|.*>= 85 %: (met|missed) \|")


if __name__ == "__main__":
    unittest.main()
