#!/usr/bin/env python3
"""bench/quality: targets are met or not as its data say, and it runs from a model to its rows. $CAIRN is the program."""

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
sys.path.insert(0, str(ROOT / "bench"))
import quality_rows as quality  # noqa: E402


def measured(setting, kl, copy=0.0, bits=(4.0, 4.5), needles=None):
    rows = [
        {"task": "kl", "setting": "f32 again", "kl_mean": 0.0, "key_bits": 32, "value_bits": 32},
        {"task": "kl", "setting": setting, "kl_mean": kl, "kl_error": 0.0, "kl_over_f16": kl, "key_bits": bits[0],
         "value_bits": bits[1]},
        {"task": "copy", "setting": setting, "over_f32_nats": copy},
    ]  # fmt: skip
    if needles is not None:
        rows += [{"task": "needle", "setting": setting, "chosen_percent": needles[0]},
                 {"task": "needle", "setting": "f32", "chosen_percent": needles[1]}]  # fmt: skip
    return quality.Measured({"rows": rows})


class QualityRowsTest(unittest.TestCase):
    def verdicts(self, grade, model, *arguments, far=None, **named):
        setting = quality.Setting("some", "other", grade)
        rows = quality.rows_of(model, measured(setting.name, *arguments, **named), [setting], far)
        return {r["name"].split(": ")[1]: r["met"] for r in rows[1:]}

    def test_a_setting_without_a_grade_is_shown_and_held_to_nothing(self):
        self.assertEqual(set(self.verdicts("", "gemma3", 9.0).values()), {None})

    def test_a_grade_holds_bits_and_divergence_to_its_limits_by_model(self):
        self.assertEqual(self.verdicts("high", "smollm2", 0.015), {"bits": True, "KL": True, "copy over f32": None})
        self.assertEqual(self.verdicts("high", "gemma3", 0.015)["KL"], False)
        self.assertEqual(self.verdicts("high", "gemma3", 0.01, bits=(4.5, 4.5))["bits"], False)
        self.assertEqual(self.verdicts("near-lossless", "gemma3", 0.002, bits=(5.5, None)),
                         {"bits": True, "KL": True, "copy over f32": None})  # fmt: skip

    def test_the_smallest_grade_must_still_copy(self):
        self.assertEqual(self.verdicts("small", "gemma3", 0.01, copy=0.08, bits=(3, 3))["copy over f32"], True)
        self.assertEqual(self.verdicts("small", "gemma3", 0.01, copy=0.081, bits=(3, 3))["copy over f32"], False)

    def test_needles_far_away_are_as_many_as_the_whole_state_finds(self):
        for found, met in ((100, True), (80, True), (60, False)):
            far = measured("some/other", 0, needles=(found, 80))
            self.assertEqual(self.verdicts("high", "gemma3", 0.01, far=far)["needles at 8,192"], met)
        self.assertNotIn("needles at 8,192", self.verdicts("high", "smollm2", 0.01, far=far))

    def test_every_grade_has_a_limit_for_every_model_and_the_table_counts(self):
        for grade in quality.GRADES.values():
            self.assertEqual(set(grade.kl), set(quality.MODELS))
        self.assertEqual(len({s.name for s in quality.SETTINGS}), len(quality.SETTINGS))
        text = quality.table([quality.row("a", 1.0, "nats", 2), quality.row("b", 3.0, "nats", 2), quality.row("c", 1.0, "bits")])
        self.assertIn("1 of 2 targets met.", text)
        self.assertIn("| b | 3 | nats | <= 2 | NO |", text)


class QualityProgramTest(unittest.TestCase):
    def test_a_quick_run_writes_rows_a_report_and_a_plot(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            tiny_text_model.write(folder)
            command = [ROOT / "bench" / "quality", "--quick", "--models", f"gemma3={folder}", "--cairn", CAIRN, "--json",
                       folder / "rows.json", "--report", folder / "report", "--only", "^(q8_0|q4_0)$"]  # fmt: skip
            done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=600)
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = {row["name"]: row for row in json.loads((folder / "rows.json").read_text())["rows"]}
            self.assertEqual(set(rows["gemma3 q8_0: bits"]), {"name", "value", "unit", "target", "met"})
            self.assertEqual(rows["gemma3 q8_0: bits"]["value"], 8.5)
            self.assertTrue(rows["gemma3 f32 again: KL"]["met"])
            self.assertLess(rows["gemma3 q8_0: KL"]["value"], rows["gemma3 q4_0: KL"]["value"])
            self.assertIn("1 of 1 targets met.", done.stdout)
            self.assertEqual({path.name for path in (folder / "report").iterdir()}, {"gemma3.md", "gemma3.svg"})

    def test_what_is_missing_is_said_in_one_line(self):
        for arguments, words in ((["--only", "nothing"], "no setting"), (["--models", "gemma3=/absent"], "make models")):
            command = [sys.executable, ROOT / "bench" / "quality", "--quick", "--cairn", CAIRN, *arguments]
            done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)
            self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
