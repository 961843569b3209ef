#!/usr/bin/env python3
"""bench/state: traces become the requests that its worker reads, and rows keep their verdicts."""

import gzip
import importlib.machinery
import importlib.util
import json
import pathlib
import struct
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
loader = importlib.machinery.SourceFileLoader("bench_state", str(ROOT / "bench" / "state"))
state = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(state)


def write_lines(path, lines):
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


class Traces(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name) / "trace.gz"

    def test_requests_with_block_ids_keep_their_order(self):
        write_lines(self.path, [{"timestamp": 2500, "hash_ids": [7, 8], "output_length": 3},
                                {"timestamp": 2500, "hash_ids": [7], "output_length": 0}])  # fmt: skip
        self.assertEqual(list(state.mooncake_requests(self.path)),
                         [(2.5, (3, 0), [(7, 1), (8, 1)]), (2.5, (0, 0), [(7, 1)])])  # fmt: skip

    def test_sessions_share_no_blocks_and_their_requests_mix_by_time(self):
        asked = {"out": 4, "stop": "tool_use", "api_time": 2}
        session = {"requests": [{"t": 0, "hash_rle": [[0, 3]], **asked},
                                {"t": 10, "requests": [{"t": 5, "hash_rle": [[0, 3], [9, 2]], **asked}]}]}  # fmt: skip
        write_lines(self.path, [session, session])
        requests = state.agentic_requests(self.path)
        self.assertEqual([time for time, *_ in requests], sorted(time for time, *_ in requests))
        self.assertEqual({turn for _, turn, _ in requests}, {(4, state.TURN_ENDS["tool_use"])})
        ends = state.agentic_requests(self.path, at_end=True)
        self.assertEqual([time + 2 for time, *_ in requests], [time for time, *_ in ends])
        blocks = [{block for first, count in runs for block in range(first, first + count)} for *_, runs in requests]
        owners = {frozenset(b for b in found if b < 12) or frozenset(b - 12 for b in found) for found in blocks}
        self.assertEqual(len(requests), 4)
        self.assertEqual(owners, {frozenset({0, 1, 2}), frozenset({0, 1, 2, 9, 10})})

    def test_the_worker_gets_times_turns_and_runs(self):
        state.write_requests([(1.5, (7, 1), [(4, 2), (9, 1)])], self.path)
        self.assertEqual(struct.unpack("<diiiiiii", self.path.read_bytes()), (1.5, 7, 1, 2, 4, 2, 9, 1))


class Disk(unittest.TestCase):
    def test_fio_moves_as_many_bytes_as_the_store_and_ends_when_they_are_safe(self):
        for action, threads in state.DISK_THREADS.items():
            command = state.fio_command(action, "folder", state.DISK_BYTES // threads)
            self.assertIn(f"--numjobs={threads}", command)
            self.assertEqual(state.DISK_BYTES % threads, 0)
            self.assertIn(f"--size={state.DISK_BYTES // threads}", command)
            self.assertEqual("--end_fsync=1" in command, action == "write")
            self.assertIn("--direct=1", command)
        self.assertIn("--rw=randread:4", state.fio_command("read", "folder", 1))


class Verdicts(unittest.TestCase):
    def test_a_row_is_met_on_its_side_of_the_target_alone(self):
        rows = state.Rows("")
        rows.at_most("a", 2.0, "us", 2)
        rows.at_most("b", 2.1, "us", 2)
        rows.at_least("c", 9.9, "x", 10)
        self.assertEqual([row["met"] for row in rows.rows], [True, False, False])
        self.assertFalse(state.Rows("^restart").wants("memory"))


if __name__ == "__main__":
    unittest.main()
