#!/usr/bin/env python3
"""--state-quality and --state-forms, as people call them, on a tiny model that reads text. $CAIRN is the program."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import tiny_text_model

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAIRN = os.environ.get("CAIRN", str(ROOT / "build" / "cairn"))


def cairn(*arguments, code=0):
    done = subprocess.run([CAIRN, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: exit code {done.returncode}, not {code}: {done.stdout}{done.stderr}")
    return done


class StateQualityTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.model = cls.folder / "tiny"
        cls.model.mkdir()
        tiny_text_model.write(cls.model)

    def run_with(self, *flags, code=0):
        return cairn("run", "-m", self.model, "-c", 2048, "-p", "The ferry left", "-n", 4, "--temp", 0, *flags, code=code)

    def made(self, name, quality):
        path = self.folder / name
        done = self.run_with("--state-quality", quality, "--state-forms", path)
        return path, json.loads(path.read_text()), done

    def test_what_was_chosen_is_told_kept_and_used_again(self):
        path, document, first = self.made("kept.json", "0.05")
        self.assertEqual(document["context"], 2048)
        self.assertEqual(len(document["layers"]), tiny_text_model.LAYERS)
        if document["reached"]:
            self.assertLessEqual(document["kl"], document["kl_allowed"])
        self.assertIn("state forms      0.05: keys", first.stderr)
        written = path.read_bytes()
        again = self.run_with("--state-quality", "0.05", "--state-forms", path)
        alone = self.run_with("--state-forms", path)
        self.assertEqual(path.read_bytes(), written)
        for later in (again, alone):
            self.assertEqual(later.stdout, first.stdout)
            self.assertIn(first.stderr.splitlines()[-1], later.stderr)

    def test_the_choice_is_the_same_each_time(self):
        _, one, _ = self.made("one.json", "0.05")
        _, two, _ = self.made("two.json", "0.05")
        self.assertEqual(one, two)

    def test_forms_that_a_person_wrote_are_used_as_they_are(self):
        path, document, _ = self.made("written.json", "0.05")
        for layer in document["layers"]:
            layer.update(keys="q4_0+std+ends", values="lm3+rot")
        document["layers"][0]["keys"] = "f16"
        path.write_text(json.dumps(document))
        self.run_with("--state-forms", path)

    def test_files_of_another_kind_model_goal_or_context_are_refused_by_name(self):
        path, document, _ = self.made("right.json", "0.05")
        cases = {
            "not a file of state forms": "{}",
            "another model's": json.dumps(document | {"model": "00"}),
            "forms for 3 layers": json.dumps(document | {"layers": document["layers"][:1]}),
            '"keys"': json.dumps(document | {"layers": [{"values": "f16"}] * 3}),
            "lm9": json.dumps(document | {"layers": [{"keys": "lm9", "values": "f16"}] * 3}),
        }
        for message, text in cases.items():
            with self.subTest(message):
                wrong = self.folder / "wrong.json"
                wrong.write_text(text)
                self.assertIn(message, self.run_with("--state-forms", wrong, code=2).stderr)
        other_goal = self.run_with("--state-forms", path, "--state-quality", "high", code=2)
        self.assertIn("made for --state-quality 0.05", other_goal.stderr)
        other_context = cairn("run", "-m", self.model, "-c", 1024, "-p", "x", "--state-forms", path,
                              "--state-quality", "0.05", code=2)  # fmt: skip
        self.assertIn("made for a context of 2048", other_context.stderr)
        self.assertIn("no such file", self.run_with("--state-forms", self.folder / "absent", code=2).stderr)

    def test_a_goal_and_a_form_by_name_exclude_each_other(self):
        self.assertIn("one or the other", self.run_with("--state-quality", "high", "-ctk", "q8_0", code=2).stderr)
        self.assertIn("near-lossless", self.run_with("--state-quality", "best", code=2).stderr)

    def test_eval_measures_goals_beside_forms(self):
        path = self.folder / "eval.json"
        cairn("eval", "kl", "-m", self.model, "-c", 512, "--windows", 1, "-ctk", "q8_0", "--state-quality", "0.05",
              "--json", path)  # fmt: skip
        rows = {row["setting"]: row for row in json.loads(path.read_text())["rows"]}
        self.assertEqual(set(rows), {"f32 again", "f16", "q8_0", "0.05"})
        self.assertLess(rows["0.05"]["state_bytes"], rows["f16"]["state_bytes"])


if __name__ == "__main__":
    unittest.main()
