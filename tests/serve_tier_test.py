#!/usr/bin/env python3
"""cairn serve with tiers below memory: what one process has read serves the next, whole or killed, and its neighbour.

Needs `make models`; skips, saying so, where the model is absent. $CAIRN is the program.
"""

import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import serve_process

WORDS = "the river runs past old stone houses and a boat waits under quiet trees while rain begins".split()


@unittest.skipUnless(serve_process.MODEL.exists(), f"{serve_process.MODEL.name} is absent; `make models` brings it")
class ServeTierTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.system = " ".join(random.Random(3).choices(WORDS, k=600))

    def start(self, *flags):
        server = serve_process.Server(*flags)
        self.addCleanup(lambda: server.process.poll() is None and server.stop(signal.SIGKILL))
        return server

    def ask(self, server, question, **more):
        status, answer = server.ask_json("/v1/chat/completions", {
            "messages": [{"role": "system", "content": self.system}, {"role": "user", "content": question}],
            "max_tokens": 16, "temperature": 0, **more})
        self.assertEqual(status, 200, answer)
        details = answer["usage"]["prompt_tokens_details"]
        return answer["choices"][0]["message"]["content"], answer["usage"]["prompt_tokens"], details

    def test_a_conversation_goes_on_from_the_disk_after_an_orderly_end_and_after_a_kill(self):
        for with_signal in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(with_signal.name):
                flags = ("--disk-tier", self.folder / with_signal.name)
                first = self.start(*flags)
                text, tokens, details = self.ask(first, "Where does the boat wait?")
                self.assertEqual(details["cached_tokens"], 0)
                if with_signal == signal.SIGKILL:
                    first.settle()
                first.stop(with_signal)

                second = self.start(*flags)
                second.learn_the_cost_of_computing()
                again, _, details = self.ask(second, "Where does the boat wait?")
                self.assertEqual(again, text)
                self.assertGreater(details["cached_tokens"], tokens - 260)
                self.assertEqual(details["cached_tokens_by_tier"]["disk"], details["cached_tokens"])
                state = second.ask_json("/state")[1]
                self.assertEqual(state["hits"]["tokens_by_origin"], {"memory": 0, "disk": details["cached_tokens"]})
                self.assertEqual(state["tiers"][0]["tokens_loaded"], details["cached_tokens"])
                self.assertGreater(sum(node["on_tiers"]["disk"] for node in state["tree"]["shown"]), tokens - 260)
                other, _, details = self.ask(second, "What begins?")
                self.assertGreater(details["cached_tokens_by_tier"]["memory"], 500)
                second.stop()
                alone = self.start()
                self.assertEqual(self.ask(alone, "What begins?")[0], other)
                alone.stop()

    def test_a_tenant_finds_nothing_of_another_after_a_restart(self):
        flags = ("--disk-tier", self.folder / "tier")
        first = self.start(*flags)
        self.ask(first, "Who waits?", cache_salt="a")
        first.stop()
        second = self.start(*flags)
        self.assertEqual(self.ask(second, "Who waits?", cache_salt="b")[2]["cached_tokens"], 0)
        self.assertGreater(self.ask(second, "Who waits?", cache_salt="a")[2]["cached_tokens"], 500)
        second.stop()

    @unittest.skipUnless(shutil.which("redis-server"), "there is no redis-server; packages.apt names it")
    def test_two_servers_share_a_redis_and_go_on_when_it_vanishes(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        redis = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--dir", self.folder],
                                 stdout=subprocess.DEVNULL)
        self.addCleanup(redis.wait)
        self.addCleanup(redis.kill)
        flags = ("--store", f"redis://127.0.0.1:{port}")
        left, right = self.start(*flags), self.start(*flags)
        text, _, _ = self.ask(left, "Where does the boat wait?")
        left.settle()
        for _ in range(100):  # the other one looks at the index now and then
            again, _, details = self.ask(right, "Where does the boat wait?", cache_salt="")
            if details["cached_tokens"] > 0:
                break
            self.assertEqual(again, text)
            right.stop()
            right = self.start(*flags)
            time.sleep(1)
        self.assertEqual(again, text)
        self.assertGreater(details["cached_tokens_by_tier"]["store"], 500)
        redis.kill()
        redis.wait()
        for server in (left, right):
            self.assertEqual(self.ask(server, "Where does the boat wait?")[0], text)
            self.assertNotEqual(self.ask(server, "Is there a tree?")[0], "")
            server.stop()


if __name__ == "__main__":
    unittest.main()
