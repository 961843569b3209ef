"""tests/check_worked_numbers: the numbers of the guides hold, others of the same form do, and wrong ones are reported."""

import copy
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS))
sys.dont_write_bytecode = True

import worked_numbers  # noqa: E402
import worked_numbers_rules  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("check_worked_numbers", str(TESTS / "check_worked_numbers"))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader(LOADER.name, LOADER))
LOADER.exec_module(check)

FILE = TESTS / "data" / "worked_numbers.json"


def entry(**members):
    return {"id": "T-1", "seed": 1, "section": "a section", "what": "something", "kind": "computed", "inputs": {},
            "verdict": "agrees", **members}  # fmt: skip


def verdicts(*entries):
    program = worked_numbers.Program()
    book = worked_numbers.Book(entries, program, worked_numbers_rules.RULES)
    answers = [book.answer(one) for one in entries]
    return [check.verdict_of(one, answer)[0] for one, answer in zip(entries, answers)], answers


class Comparing(unittest.TestCase):
    def test_exact_numbers_are_compared_to_their_last_digit(self):
        self.assertTrue(check.same(1.65234, 1.6523))
        self.assertFalse(check.same(1.65246, 1.6523))
        self.assertTrue(check.same(131072, 131072))
        self.assertFalse(check.same(131073, 131072))
        self.assertTrue(check.same({"a": [1.0, 2]}, {"a": [1, 2]}))
        self.assertFalse(check.same({"a": 1}, {"b": 1}))
        self.assertFalse(check.same([1], [1, 2]))

    def test_printed_numbers_are_compared_at_their_own_precision(self):
        self.assertTrue(check.rounds_to(68.625, "68.6", False))
        self.assertFalse(check.rounds_to(68.71, "68.6", False))
        self.assertTrue(check.rounds_to(38.4, "40", False))
        self.assertTrue(check.rounds_to(47472 / 1000, "48", True))
        self.assertFalse(check.rounds_to(122070 / 1000, "125", True))

    def test_lengths_are_read_from_text(self):
        self.assertEqual(list(worked_numbers.lengths_in("KV at 32K")), [32768])
        self.assertEqual(list(worked_numbers.lengths_in("one request of 16 Ki tokens")), [16384])
        self.assertEqual(list(worked_numbers.lengths_in("1,048,576 tokens, BF16")), [1048576])
        self.assertEqual(list(worked_numbers.lengths_in("32 layers, 128 dim")), [])

    def test_formulas_are_evaluated_and_nothing_else_is(self):
        self.assertEqual(worked_numbers.evaluate("2^bits*(1+a)", {"bits": 3, "a": 1}), 16)
        self.assertEqual(worked_numbers.evaluate("54,144*2", {}), 108288)
        for text in ("__import__('os')", "a.b", "f(1)", "1/0", "x", ""):
            with self.assertRaises(ValueError):
                worked_numbers.evaluate(text, {"a": 1})


class TheProgram(unittest.TestCase):
    def test_the_guides_numbers_hold(self):
        run = subprocess.run([TESTS / "check_worked_numbers", FILE], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("196 of 196 computed numbers reproduced", run.stdout)

    def test_other_numbers_of_the_same_form_hold_too(self):
        formula = "2*L*H_kv*D*T*B*S"
        sizes = [entry(section="3 models", what=f"{layers} layers", formula=formula, unit="bytes", printed="not printed",
                       inputs={"L": layers, "H_kv": 3, "D": 96, "S": element, "B": 2, "T": 777},
                       exact=2 * layers * 3 * 96 * 777 * 2 * element)
                 for layers, element in ((5, 2), (7, 1), (81, 4))]  # fmt: skip
        found, answers = verdicts(
            *sizes,
            entry(section="Qwen3-14B at 8K", what="two requests", inputs={"B": 2}, unit="GiB", formula=formula,
                  exact=2 * 1.25, printed="2.5 GiB"),
            entry(what="GQA against MHA", inputs={"mha": 48, "gqa": 6}, formula="6/48", unit="ratio", exact=0.125,
                  printed="1/8"),
            entry(what="latent", inputs={"latent": 256, "rope": 32}, formula="256+32", unit="elements", exact=288,
                  printed="288"),
        )  # fmt: skip
        self.assertEqual(found, ["agrees"] * 6, answers)
        self.assertEqual({answer.source for answer in answers}, {"program"})

    def test_a_changed_number_is_reported(self):
        data = json.loads(FILE.read_text())
        changed = copy.deepcopy(data)
        for one in changed["entries"]:
            if one["id"] == "S1-002":
                one["exact"] += 1
            if one["id"] == "S1-042":
                one["printed"] = "about 70.6 KiB"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "changed.json"
            path.write_text(json.dumps(changed))
            run = subprocess.run([TESTS / "check_worked_numbers", path], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("S1-002 differs", run.stdout)
        self.assertIn("S1-042 differs", run.stdout)
        self.assertIn("194 of 196 computed numbers reproduced", run.stdout)

    def test_a_program_that_fails_reproduces_nothing_about_a_model(self):
        with tempfile.TemporaryDirectory() as folder:
            broken = pathlib.Path(folder) / "cairn"
            broken.write_text("#!/bin/sh\nfor a; do case $a in -*|size) ;; *) echo '{\"error\": \"\"}';; esac; done; exit 2\n")
            broken.chmod(0o755)
            run = subprocess.run([TESTS / "check_worked_numbers", FILE], capture_output=True, text=True, check=False,
                                 env={**os.environ, "CAIRN": str(broken)})  # fmt: skip
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("0 by the program, 0 by the program with", run.stdout)
        self.assertNotIn("S1-002 inconsistent", run.stdout)
        self.assertIn("S1-002 differs", run.stdout)
        self.assertIn("S1-185 differs", run.stdout)

    def test_the_page_in_docs_is_up_to_date(self):
        run = subprocess.run([TESTS / "check_worked_numbers", "--markdown", FILE], capture_output=True, text=True,
                             check=False)  # fmt: skip
        self.assertEqual(run.stdout, (TESTS.parent / "docs" / "worked_numbers.md").read_text())


if __name__ == "__main__":
    os.chdir(TESTS.parent)
    unittest.main()
