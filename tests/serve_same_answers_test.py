#!/usr/bin/env python3
"""Over HTTP, too, an answer depends on its request alone: not on company, evictions, preemptions, tiers or a crash.

A tiny model is made on the spot (tiny_model.py). $CAIRN is the program.
"""

import concurrent.futures
import json
import pathlib
import random
import shutil
import signal
import tempfile
import time
import unittest

import serve_process
import tiny_model

REQUESTS = 200
CLIENTS = 24
WORDS = "the river runs past old stone houses and a boat waits under quiet trees while rain begins".split()
SCHEMA = {"type": "object", "properties": {"word": {"enum": WORDS}, "count": {"type": "integer"}}, "required": ["word", "count"],
          "additionalProperties": False}  # fmt: skip


def text_of(rng, words):
    return " ".join(rng.choices(WORDS, k=words))


def some_request(rng, beginnings):
    """(path, body): sampled or not, with everything that an answer can be asked for; or embeddings."""
    if rng.random() < 0.1:
        body = {"input": [text_of(rng, rng.choice([3, 60])) for _ in range(rng.randint(1, 4))]}
        return "/v1/embeddings", body | rng.choice([{}, {"encoding_format": "base64"}, {"dimensions": 50}])
    body = {"max_tokens": rng.choice([1, 8, 20, 120]), "n": rng.choice([1, 1, 1, 2, 3])}
    if rng.random() < 0.4:
        body["temperature"] = 0
    else:
        body |= {"temperature": rng.choice([0.7, 1.1]), "seed": rng.randrange(1 << 40), "top_p": rng.choice([0.9, 1])}
        body |= rng.choice([{}, {"top_k": 20}, {"min_p": 0.1}, {"repeat_penalty": 1.2}])
    if rng.random() < 0.3:
        body["stop"] = rng.choice([["e", "zz"], "a", [" t"]])
    beginning, question = rng.choice(beginnings), text_of(rng, rng.randint(1, 20))
    if rng.random() < 0.3:
        body |= {"prompt": beginning + question, "logprobs": rng.choice([None, 0, 3]), "echo": False}
        return "/v1/completions", body
    body["messages"] = [{"role": "system", "content": beginning}, {"role": "user", "content": question}]
    if rng.random() < 0.3:
        body |= {"logprobs": True, "top_logprobs": rng.choice([0, 5])}
    if rng.random() < 0.25:
        body |= {"response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": SCHEMA}}, "max_tokens": 60}
        body.pop("stop", None)
    return "/v1/chat/completions", body


class ServeSameAnswersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.model = cls.folder / "tiny.gguf"
        tiny_model.write(cls.model)

    def start(self, *flags):
        server = serve_process.Server("-np", "12", "-t", "2", "--pooling", "mean", *flags, model=self.model)
        self.addCleanup(lambda: server.process.poll() is None and server.stop(signal.SIGKILL))
        return server

    def answer(self, server, request, **more):
        """The bytes of the choices, or embeddings, and how many tokens they took."""
        path, body = request
        status, answer = server.ask_json(path, body | more)
        self.assertEqual(status, 200, answer)
        usage = {name: answer["usage"].get(name) for name in ("prompt_tokens", "completion_tokens")}
        return json.dumps([answer.get("choices"), answer.get("data"), usage])

    def check_in_company(self, server, requests, alone, seed):
        order = list(range(len(requests)))
        random.Random(seed).shuffle(order)
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            answers = clients.map(lambda i: (i, self.answer(server, requests[i])), order)
            for i, answer in answers:
                self.assertEqual(answer, alone[i], requests[i])

    def settle(self, server):
        for _ in range(600):
            writes = server.ask_json("/state")[1]["writes"]
            if writes["waiting"] == 0 and writes["done"] > 0:
                return
            time.sleep(0.05)
        self.fail("the disk never took what was kept")

    def test_answers_in_company_from_tiers_and_after_a_kill_are_those_of_one_who_asks_alone(self):
        rng = random.Random(20)
        beginnings = [text_of(rng, 70 + 10 * i) for i in range(6)]
        requests = [some_request(rng, beginnings) for _ in range(REQUESTS)]
        cold = self.start()
        alone = [self.answer(cold, request, cache_salt=str(i)) for i, request in enumerate(requests)]
        self.assertEqual(cold.ask_json("/state")[1]["hits"]["tokens_from_memory"], 0)
        self.assertGreater(len(set(alone)), REQUESTS * 0.9)
        cold.stop()

        flags = ("--disk-tier", self.folder / "disk", "--state-bytes", "768KiB")
        first = self.start(*flags)
        self.check_in_company(first, requests, alone, 1)
        self.settle(first)
        state = first.ask_json("/state")[1]
        self.assertGreater(state["tree"]["evictions"], 50)
        self.assertGreater(state["hits"]["tokens_from_memory"], 10_000)
        self.assertGreater(state["engine"]["preemptions"], 0)
        first.stop(signal.SIGKILL)

        second = self.start(*flags)
        self.check_in_company(second, requests, alone, 2)
        self.assertGreater(second.ask_json("/state")[1]["hits"]["tokens_loaded"], 500)
        self.assertEqual(second.stop(), 0)


if __name__ == "__main__":
    unittest.main()
