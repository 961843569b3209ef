#!/usr/bin/env python3
"""`cairn bench`: sequences that are computed together, and measuring on request."""

import json
import os
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAIRN = os.environ.get("CAIRN", str(ROOT / "build" / "cairn"))
MODEL = ROOT / "tests" / "golden" / "llama_gqa"
WINDOWED = ROOT / "tests" / "golden" / "gemma3_text"
ROOM = ("-p", "24", "-n", "4", "-d", "0,40", "--sequences", "3")


def bench(*arguments, lines="", model=MODEL):
    command = [CAIRN, "bench", "-m", str(model), "-t", "1", *arguments]
    return subprocess.run(command, input=lines, capture_output=True, text=True, timeout=60)


def answers_to(*lines, model=MODEL):
    done = bench("--on-request", *ROOM, lines="".join(line + "\n" for line in lines), model=model)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


class OnRequestTest(unittest.TestCase):
    def test_every_line_is_answered_with_the_time_it_took(self):
        for model in (MODEL, WINDOWED):
            lines = ("prompt 24", "answer 4 depth 40", "prompt 24 answer 4 sequences 3 depth 40", "prompt 24")
            answers = answers_to(*lines, model=model)
            self.assertEqual(len(answers), len(lines))
            for answer in answers:
                self.assertGreater(answer["ns"], 0)

    def test_a_depth_alone_takes_no_time(self):
        self.assertEqual(answers_to("depth 40", "depth 40 sequences 2"), [{"ns": 0}, {"ns": 0}])

    def test_what_is_not_understood_is_said_and_the_next_line_is_read(self):
        answers = answers_to("promt 24", "prompt", "prompt -1", "answer 4 sequences 0", "prompt 4")
        for answer in answers[:-1]:
            self.assertEqual(list(answer), ["error"])
        self.assertIn("promt", answers[0]["error"])
        self.assertIn("ns", answers[-1])

    def test_more_than_there_is_room_for_is_refused_and_the_room_stays(self):
        answers = answers_to("prompt 24 depth 4000", "answer 4 sequences 900", "prompt 24 depth 40 sequences 3")
        self.assertIn("error", answers[0])
        self.assertIn("error", answers[1])
        self.assertIn("ns", answers[2])

    def test_nothing_asked_is_nothing_said(self):
        self.assertEqual(answers_to(), [])


class SequencesTest(unittest.TestCase):
    def test_tokens_of_all_sequences_count(self):
        done = bench("-p", "8", "-n", "4", "-d", "0,16", "-npl", "3", "-r", "2", "-o", "json")
        rows = json.loads(done.stdout)
        self.assertEqual([(r["n_prompt"], r["n_gen"], r["n_depth"]) for r in rows],
                         [(8, 0, 0), (0, 4, 0), (8, 0, 16), (0, 4, 16)])  # fmt: skip
        for row in rows:
            self.assertEqual(row["n_sequences"], 3)
            for ns, rate in zip(row["samples_ns"], row["samples_ts"], strict=True):
                self.assertAlmostEqual(rate * ns / 1e9, 3 * (row["n_prompt"] + row["n_gen"]), places=6)

    def test_the_name_says_how_many(self):
        self.assertIn("| tg4 x3 @ d16 |", bench("-p", "0", "-n", "4", "-d", "16", "--sequences", "3", "-r", "1").stdout)


if __name__ == "__main__":
    unittest.main()
