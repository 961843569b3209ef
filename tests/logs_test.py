#!/usr/bin/env python3
"""The sizes that frameworks printed in public logs follow from cairn size --profile, as docs/sizing_logs.md shows."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAIRN = os.environ.get("CAIRN", str(ROOT / "build" / "cairn"))
LOGS = ROOT / "tests" / "data" / "sizing_logs.json"


def check_logs(*arguments):
    return subprocess.run([ROOT / "tests" / "check_logs", *map(str, arguments)], capture_output=True, text=True,
                          check=False, env={**os.environ, "CAIRN": CAIRN})  # fmt: skip


class LogsTest(unittest.TestCase):
    def test_every_record_is_as_good_as_its_verdict_and_the_table_in_docs_is_up_to_date(self):
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder) / "sizing_logs.md"
            run = check_logs(LOGS, "--markdown", made)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            self.assertTrue(run.stdout.endswith("0 worse than their verdict\n"), run.stdout)
            self.assertEqual(made.read_text(), (ROOT / "docs" / "sizing_logs.md").read_text(),
                             "make it again: tests/check_logs tests/data/sizing_logs.json --markdown docs/sizing_logs.md")

    def assert_differs(self, name, change):
        """A record that was changed can't be reproduced any more."""
        records = {record["id"]: record for record in json.loads(LOGS.read_text())["records"]}
        change(records[name])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "logs.json"
            path.write_text(json.dumps({"records": [records[name]]}))
            run = check_logs(path)
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn(f"{name}: DIFFERS", run.stdout)

    def test_rows_whose_keys_and_values_differ_in_width_are_reproduced(self):
        records = {record["id"]: record for record in json.loads(LOGS.read_text())["records"]}
        for keys, values in ((768, 512), (1536, 1024), (320, 0)):
            record = {**records["l007"], "settings": {"cells": 4096, "streams": 1}}
            record["given"] = {"cells": 4096, "layers_with_kv": 9, "n_embd_k_gqa": keys, "n_embd_v_gqa": values}
            sizes = [9 * 4096 * width * 2 / (1 << 20) for width in (keys, values)]
            record["to_predict"] = {"total_MiB": sum(sizes), "K_MiB": sizes[0], "V_MiB": sizes[1]}
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "logs.json"
                path.write_text(json.dumps({"records": [record]}))
                run = check_logs(path)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            self.assertIn("1 of 1 records reproduced exactly", run.stdout)

    def test_a_record_with_another_number_differs(self):
        self.assert_differs("h001", lambda record: record["to_predict"].update(kv_tokens=302922))
        self.assert_differs("h001", lambda record: record["to_predict"].update(max_concurrency=2.32))
        self.assert_differs("h001", lambda record: record["given"].update(available_kv_gib_per_rank=5.03))
        self.assert_differs("v002", lambda record: record["to_predict"].update(kv_tokens=31233))
        self.assert_differs("d001", lambda record: record["to_predict"].update(estimated_max_model_len=13527))
        self.assert_differs("d003", lambda record: record.update(version="0.22"))
        self.assert_differs("w001", lambda record: record["to_predict"].update(available_kv_gib=50.32))
        self.assert_differs("a008", lambda record: record["to_predict"].update(mamba_pad_pct=0.77))
        self.assert_differs("g006", lambda record: record["to_predict"].update(conv_state_GB=0.45))
        self.assert_differs("l015", lambda record: record["to_predict"].update(recurrent_total_MiB=448.87))


if __name__ == "__main__":
    unittest.main()
