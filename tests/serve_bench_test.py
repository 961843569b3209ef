#!/usr/bin/env python3
"""bench/serve and bench/serve_soak: the client reads streams whatever pieces they come in, traces become prompts that share what
they shared, and verdicts are on their side of the target. Without any server but a small false one."""

import gzip
import http.server
import json
import pathlib
import sys
import tempfile
import threading
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import serve_client  # noqa: E402
import serve_measure  # noqa: E402
import serve_replay  # noqa: E402
import serve_rows  # noqa: E402
import serve_soak_state  # noqa: E402
import serve_trace  # noqa: E402

EVENTS = [{"choices": [{"text": "one", "finish_reason": None}]}, {"choices": [{"text": "", "finish_reason": None}]},
          {"choices": [{"text": " tw\u00f6", "finish_reason": "length"}]},
          {"choices": [], "usage": {"completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}}}]  # fmt: skip
STREAM = b"".join(b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n" for event in EVENTS) + b"data: [DONE]\n\n"


class FalseServer(http.server.BaseHTTPRequestHandler):
    """Answers what the path says."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/refused":
            self.send_error(503)
        elif self.path == "/body":
            self.reply("application/json", json.dumps({"choices": [{"text": "a"}, {"text": "b"}], "usage": {}}).encode())
        else:
            self.reply("text/event-stream", STREAM if self.path == "/stream" else STREAM[:100])

    def reply(self, kind, data):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class ClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), FalseServer)
        cls.port = cls.server.server_address[1]
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def test_events_are_the_same_whatever_pieces_they_come_in(self):
        whole = [data for _, data in serve_client.read_events([(0, STREAM)])]
        self.assertEqual(len(whole), 5)
        for size in (1, 2, 7, 64):
            pieces = [(at, STREAM[at : at + size]) for at in range(0, len(STREAM), size)]
            self.assertEqual([data for _, data in serve_client.read_events(pieces)], whole)

    def test_an_event_has_the_time_at_which_its_last_byte_came(self):
        end = STREAM.index(b"\n") + 1
        events = serve_client.read_events([(1.0, STREAM[: end - 1]), (2.0, STREAM[end - 1 : end]), (3.0, STREAM[end:])])
        self.assertEqual([at for at, _ in events], [2.0, 3.0, 3.0, 3.0, 3.0])

    def test_a_stream_is_text_usage_and_a_time_for_each_event_that_has_text(self):
        answer = serve_client.ask(self.port, "/stream", {})
        self.assertEqual((answer.status, answer.text, answer.reason), (200, "one tw\u00f6", "length"))
        self.assertTrue(answer.whole)
        self.assertEqual(answer.cached, 5)
        self.assertEqual(len(answer.token_times), 2)
        self.assertEqual(len(answer.gaps), 1)

    def test_a_stream_without_its_end_is_not_whole(self):
        answer = serve_client.ask(self.port, "/cut", {})
        self.assertFalse(answer.whole)
        self.assertEqual(answer.text, "one")
        with self.assertRaises(serve_measure.WrongAnswer):
            serve_measure.checked(serve_client.Load([[answer]], 1, 0), {3})

    def test_other_statuses_and_closed_ports_are_answers_too(self):
        self.assertEqual(serve_client.ask(self.port, "/refused", {}).status, 503)
        gone = serve_client.ask(1, "/", {})
        self.assertEqual(gone.status, 0)
        self.assertIn("refused", gone.error.lower())
        self.assertEqual(serve_client.ask(self.port, "/body", {}).text, "a\0b")

    def test_users_ask_at_once_and_each_one_after_another(self):
        load = serve_client.run_users(self.port, "/stream", [[{}, {}], [{}]])
        self.assertEqual([len(user) for user in load.answers], [2, 1])
        first, second = load.answers[0]
        self.assertLessEqual(first.end_s, second.sent_s)

    def test_the_last_user_waits_for_events_of_all_others(self):
        streams = [[{}], [{}, {}]]
        for events in (1, 5, 100):  # 100: as many never come, and nobody waits for ever
            load = serve_client.run_users(self.port, "/stream", [*streams, [{}]], last_after=events)
            firsts = [user[0].token_times[0] for user in load.answers[:2]]
            self.assertGreaterEqual(load.answers[2][0].sent_s, max(firsts))


class TraceTest(unittest.TestCase):
    def read(self, sessions, wanted, context=100):
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch) / "trace.gz"
            with gzip.open(path, "wt") as file:
                file.writelines(json.dumps({"requests": requests}) + "\n" for requests in sessions)
            return serve_trace.read_sessions(path, wanted, context)

    def test_sessions_that_fit_are_taken_in_order_of_time_and_share_no_blocks(self):
        session = [{"t": t, "hash_rle": [[1, 1 + t]]} for t in range(12)]
        long = [{"t": t, "hash_rle": [[1, 1000]]} for t in range(12)]
        requests = self.read([long, session, session, session], 2)
        self.assertEqual(len(requests), 24)
        self.assertEqual(sorted(at for at, _ in requests), [at for at, _ in requests])
        self.assertEqual(len({runs[0][0] for _, runs in requests}), 2)

    def test_the_same_block_is_the_same_tokens(self):
        first, second = serve_trace.tokens_of([(5, 3)]), serve_trace.tokens_of([(5, 2), (9, 1)])
        size = serve_trace.TOKENS_OF_BLOCK
        self.assertEqual(len(first), 3 * size)
        self.assertEqual(first[: 2 * size], second[: 2 * size])
        self.assertNotEqual(first[2 * size :], second[2 * size :])

    def test_found_is_the_longest_beginning_that_was_there_less_the_last_token(self):
        self.assertEqual(serve_trace.found_without_bound([[1, 2, 3], [1, 2, 3], [1, 2, 9, 3], [2, 3], [1, 2, 3, 4]]), [0, 2, 2, 0, 3])
        self.assertEqual(serve_trace.distinct_tokens([[1, 2, 3], [1, 2, 3], [1, 2, 9, 3], [2, 3]]), 7)

    def test_the_trees_replay_is_that_of_bench_state(self):
        self.assertTrue(callable(serve_replay.bench_state().write_requests))


class VerdictTest(unittest.TestCase):
    def test_every_row_has_its_own_name_and_wrong_answers_fail_it(self):
        rows = serve_rows.rows_of(serve_rows.FULL)
        self.assertEqual(len({row.name for row in rows}), len(rows))
        options = types.SimpleNamespace(sizes=serve_rows.FULL, threads=2, versions={})
        measurer = serve_measure.Measurer(options, None, None, None, print)
        measurer.model_name, measurer.model = "m", pathlib.Path("m.gguf")
        row = serve_rows.Row("x", "x", "s", 2, "lower")
        self.assertTrue(measurer.result(row, 2.0, {"wrong_answers": 0})["met"])
        self.assertFalse(measurer.result(row, 2.1, {"wrong_answers": 0})["met"])
        self.assertFalse(measurer.result(row, 1.0, {"wrong_answers": 1})["met"])

    def test_the_worst_gap_is_that_of_the_streams_alone(self):
        stream = lambda *times: [serve_client.Answer(token_times=list(times), end_s=9)]  # noqa: E731
        arriving = [serve_client.Answer(sent_s=2.5, token_times=[9.0, 30.0])]
        load = serve_client.Load([stream(0, 1, 2, 3), stream(0, 1, 2, 5), arriving], 30, 0)
        self.assertEqual(serve_measure.gaps_ms(load), (1000, 1000, 3000, 3000))
        self.assertEqual(serve_measure.worst_gap_ratio(load), 3)

    def test_memory_that_grows_is_seen_through_spikes(self):
        flat = [(float(at), 100.0 + (50 if at % 10 == 0 else 0)) for at in range(200)]
        self.assertEqual(serve_soak_state.slope_per_minute(flat), 0)
        growing = [(at, value + at) for at, value in flat]
        self.assertAlmostEqual(serve_soak_state.slope_per_minute(growing), 60, delta=1)

    def test_a_state_that_does_not_add_up_is_seen(self):
        state = {"occupancy": {"budget_bytes": 100, "live_bytes": 30, "classes": [{"live_bytes": 10}, {"live_bytes": 20}]},
                 "bytes_by_use": {"running": 10, "in_use": 0, "kept": 20},
                 "hits": {"tokens_asked": 9, "tokens_from_memory": 4, "tokens_loaded": 5},
                 "engine": {"submitted": 3, "finished": 1, "failed": 0, "cancelled": 1, "running": 1, "waiting": 0}}  # fmt: skip
        self.assertEqual(serve_soak_state.inconsistencies(state), [])
        self.assertEqual(len(serve_soak_state.at_rest(state)), 3)
        for part, key, value in (("occupancy", "live_bytes", 31), ("bytes_by_use", "kept", 21), ("engine", "finished", 9),
                                 ("hits", "tokens_loaded", 6), ("engine", "failed", 1)):  # fmt: skip
            broken = json.loads(json.dumps(state))
            broken[part][key] = value
            self.assertNotEqual(serve_soak_state.inconsistencies(broken), [], (part, key))


if __name__ == "__main__":
    unittest.main()
