#!/usr/bin/env python3
"""bench/versus: rows, verdicts and merging, and contestants that take turns, without any peer."""

import pathlib
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import peers  # noqa: E402
import versus_measure  # noqa: E402
import versus_results as results  # noqa: E402
import versus_rows as rows  # noqa: E402
import workers  # noqa: E402

ECHO = """
import sys
for line in sys.stdin:
    if line == "die\\n":
        sys.exit("worker: out of luck")
    print('{"error": "no"}' if line == "fail\\n" else '{"ns": %d}' % len(line), flush=True)
"""


class RowsTest(unittest.TestCase):
    def test_names_are_unique(self):
        names = [row.name for row in rows.all_rows()]
        self.assertEqual(len(names), len(set(names)))

    def test_every_depth_of_every_model_has_all_targets(self):
        for model, about in rows.MODELS.items():
            for threads in (1, 2):
                for depth in about.depths:
                    here = [r for r in rows.rows_of(model, threads) if r.test.depth == depth]
                    self.assertEqual(len(here), len(rows.AT_DEPTH))

    def test_rows_of_one_test_stand_together(self):
        seen, last = set(), None
        for row in rows.all_rows():
            key = (row.model, row.ours, row.test) if row.ours.burners else (row.model, row.ours.threads, row.test)
            self.assertTrue(key == last or key not in seen, row.name)
            seen.add(key)
            last = key

    def test_a_request_says_what_is_measured(self):
        self.assertEqual(rows.speed("pp", 4096).request, "prompt 512 depth 4096")
        self.assertEqual(rows.speed("tg", 0, 8).request, "answer 64 sequences 8")
        self.assertEqual(rows.speed("tg", 0, 8).value_of(2_000_000_000), 8 * 64 / 2)


class ResultsTest(unittest.TestCase):
    def test_median_and_spread(self):
        self.assertEqual(
            results.summary([3.0, 1.0, 2.0, 10.0, 2.5]),
            {"median": 2.5, "min": 1.0, "max": 10.0, "mad": 0.5, "samples": [3.0, 1.0, 2.0, 10.0, 2.5]},
        )

    def test_a_speed_must_reach_its_target(self):
        self.assertTrue(results.verdict([30.0, 31.0, 29.0], [10.0, 10.0, 10.0], 3.0, True)["met"])
        self.assertFalse(results.verdict([29.9], [10.0], 3.0, True)["met"])

    def test_a_time_must_not_exceed_it(self):
        self.assertTrue(results.verdict([1.0], [1.0], 1.0, False)["met"])
        self.assertFalse(results.verdict([1.01], [1.0], 1.0, False)["met"])

    def test_the_ratio_is_of_the_medians_and_its_range_of_the_rounds(self):
        verdict = results.verdict([10.0, 20.0, 40.0], [5.0, 5.0, 20.0], 1.0, True)
        self.assertEqual((verdict["ratio"], verdict["ratio_min"], verdict["ratio_max"]), (4.0, 2.0, 4.0))

    def test_fresh_rows_replace_earlier_ones_in_the_table_s_order(self):
        earlier = [{"name": "b", "n": 1}, {"name": "gone", "n": 1}, {"name": "a", "n": 1}]
        merged = results.merged(earlier, [{"name": "b", "n": 2}], ["a", "b"])
        self.assertEqual([(row["name"], row["n"]) for row in merged], [("a", 1), ("b", 2), ("gone", 1)])

    def test_a_file_is_read_as_it_was_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "out.json"
            self.assertEqual(results.read(path), [])
            results.write(path, [{"name": "a"}])
            self.assertEqual(results.read(path), [{"name": "a"}])
            path.write_text("[]")
            with self.assertRaises(peers.fetch.Failure):
                results.read(path)


class WorkerTest(unittest.TestCase):
    def setUp(self):
        self.worker = workers.Worker([sys.executable, "-c", ECHO])
        self.addCleanup(self.worker.close)

    def test_answers_line_by_line(self):
        self.assertEqual([self.worker.ask(text)["ns"] for text in ("a", "bcd")], [2, 4])
        self.assertGreater(self.worker.peak_bytes(), 1 << 20)

    def test_a_refusal_is_told_with_its_reason(self):
        with self.assertRaisesRegex(peers.fetch.Failure, "can't do `fail`: no"):
            self.worker.ask("fail")
        self.assertEqual(self.worker.ask("a")["ns"], 2)

    def test_a_death_is_told_with_the_last_words(self):
        for _ in range(2):
            with self.assertRaisesRegex(peers.fetch.Failure, "no answer to `die`: worker: out of luck"):
                self.worker.ask("die")


class FakeWorker:
    """Speeds by command; tells what it was asked in a list that all share."""

    def __init__(self, command, asked):
        self.command, self.asked = command, asked

    def ask(self, line):
        self.asked.append((self.command, line))
        slow = "llama f16 0" == self.command
        return {"ns": 2_000_000_000 if slow else 1_000_000_000}


class TurnsTest(unittest.TestCase):
    def measure(self, chosen, rounds=3):
        llamacpp = unittest.mock.Mock()
        llamacpp.worker_command = lambda path, state, flash_attn: f"llama {state} {flash_attn}"
        measurer = versus_measure.Measurer("cairn", llamacpp, lambda line: None, rounds)
        asked = []
        measurer._live = unittest.mock.Mock()
        measurer._live.get = lambda key, command: FakeWorker(command if isinstance(command, str) else "cairn", asked)
        return measurer.group(chosen), asked

    def test_contestants_take_turns_and_the_better_attention_is_chosen(self):
        chosen = [row for row in rows.rows_of("smollm2", 1) if row.test == rows.speed("tg", 4096)][:1]
        [result], asked = self.measure(chosen)
        self.assertEqual(result["flash_attn"], 1)
        self.assertEqual(result["flash_attn_tried"], {0: 32.0, 1: 64.0})
        last = [command for command, _ in asked[-6:]]
        self.assertEqual(last, ["llama f16 1", "cairn"] * 3)
        self.assertEqual(result["ratio"], 1.0)
        self.assertFalse(result["met"])

    def test_both_fills_come_before_anything_is_measured(self):
        chosen = [row for row in rows.rows_of("smollm2", 1) if row.test == rows.speed("pp", 4096)]
        _, asked = self.measure(chosen)
        fills = {line.split(" threads")[0] for command, line in asked[:2] if command.startswith("llama")}
        self.assertEqual(fills, {"depth 4096"})

    def test_one_contestant_serves_several_rows(self):
        chosen = [row for row in rows.rows_of("smollm2", 1) if row.test == rows.speed("tg", 4096)]
        done, asked = self.measure(chosen, rounds=1)
        self.assertEqual(len(done), 5)
        measured = [command for command, line in asked if line.startswith("answer")]
        self.assertEqual(measured.count("cairn"), 3)  # f16, q8_0 and q4_0


if __name__ == "__main__":
    unittest.main()
