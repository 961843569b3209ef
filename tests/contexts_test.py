#!/usr/bin/env python3
"""Contexts of cairn serve on a real model, as OpenAI's client uses them. $CAIRN is the program."""

import concurrent.futures
import json
import random
import sys
import tempfile
import time
import unittest

from serve_process import MODEL, ROOT, Server

sys.path.insert(0, str(ROOT / "build" / "python"))
import openai  # noqa: E402

SYSTEM = {"role": "system", "content": "You are a helpful guide who knows every river, and answers in one short sentence. " * 8}
RIVER = {"role": "user", "content": "Which river flows through Paris?"}
SEED = random.randrange(1 << 30)


def numbered(count, salt):
    """Tokens that no other prompt of these tests begins with."""
    return [1000 + (salt * 7919 + i * 31) % 40000 for i in range(count)]


class ContextCase(unittest.TestCase):
    FLAGS = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.FLAGS)
        cls.client = openai.OpenAI(base_url=cls.server.url + "/v1", api_key="none", max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.stop()

    def tearDown(self):
        for context in self.client.get("/contexts", cast_to=object)["data"]:
            self.release(context["id"])

    def make(self, **body):
        return self.client.post("/contexts", body=body, cast_to=object)

    def show(self, context):
        return self.client.get(f"/contexts/{context}", cast_to=object)

    def do(self, context, what, **body):
        return self.client.post(f"/contexts/{context}/{what}", body=body, cast_to=object)

    def release(self, context, **body):
        return self.client.delete(f"/contexts/{context}", body=body, cast_to=object)

    def chat(self, messages, context=None, append=False, **more):
        extra = {"context": context, "context_append": append} if context else {}
        return self.client.chat.completions.create(
            **{"model": "m", "messages": messages, "max_tokens": 12, "temperature": 0, "extra_body": extra, **more})

    def complete(self, prompt, context=None, **more):
        extra = {"context": context} if context else {}
        return self.client.completions.create(
            **{"model": "m", "prompt": prompt, "max_tokens": 8, "temperature": 0, "extra_body": extra, **more})

    def state(self):
        return self.server.ask_json("/state")[1]


@unittest.skipUnless(MODEL.exists(), f"{MODEL.name} is absent, `make models` brings it")
class ContextsTest(ContextCase):
    def test_a_chat_on_a_context_is_the_chat_in_one_piece_byte_for_byte(self):
        context = self.make(messages=[SYSTEM])
        for more in ({}, {"temperature": 1, "seed": 5}, {"temperature": 1, "seed": 5, "n": 3}, {"logprobs": True}):
            whole = self.chat([SYSTEM, RIVER], **more)
            ours = self.chat([RIVER], context["id"], **more)
            self.assertEqual(ours.choices, whole.choices)
            self.assertEqual(ours.usage.prompt_tokens, whole.usage.prompt_tokens)
            self.assertGreaterEqual(ours.usage.prompt_tokens_details.cached_tokens, context["tokens"])
            self.assertEqual(ours.context["kept_tokens"], context["tokens"])

    def test_tokens_that_are_appended_are_those_of_one_prompt(self):
        first, second, third = numbered(50, 1), numbered(30, 2), numbered(20, 3)
        context = self.make(tokens=first)["id"]
        self.assertEqual(self.do(context, "append", tokens=second)["tokens"], 80)
        for more in ({}, {"temperature": 1, "seed": 9, "n": 2}, {"logprobs": 3}):
            self.assertEqual(self.complete(third, context, **more).choices, self.complete(first + second + third, **more).choices)
        back = self.do(context, "rewind", tokens=50)
        self.assertEqual((back["tokens"], back["kept_tokens"]), (50, 50))
        self.assertEqual(self.complete(third, context).choices, self.complete(first + third).choices)

    def test_a_conversation_goes_on_by_appending_and_nothing_is_read_twice(self):
        context = self.make(messages=[SYSTEM], pin=True)["id"]
        messages = [SYSTEM]
        for question in ("Which river flows through Paris?", "And through London?", "Which is longer?"):
            before = self.show(context)["tokens"]
            asked = {"role": "user", "content": question}
            answer = self.chat([asked], context, append=True)
            cached = answer.usage.prompt_tokens_details.cached_tokens
            self.assertGreaterEqual(cached, before - 1)  # an answer's last token is never read
            messages += [asked, {"role": "assistant", "content": answer.choices[0].message.content}]
            after = self.show(context)
            self.assertEqual(after["tokens"], answer.usage.total_tokens)
            self.assertEqual(answer.context["tokens"], after["tokens"])
            self.assertEqual(after["messages"], len(messages))
            self.assertGreaterEqual(after["pinned_tokens"], after["tokens"] - 1)
        again = {"role": "user", "content": "Thanks!"}
        ours, in_one = self.chat([again], context), self.chat([*messages, again])
        self.assertEqual(ours.usage.prompt_tokens, in_one.usage.prompt_tokens)
        self.assertEqual(ours.choices, in_one.choices)
        self.do(context, "rewind", messages=2)
        self.assertEqual(self.chat([], context).choices, self.chat(messages[:2]).choices)

    def test_a_stream_on_a_context_has_the_same_text_and_is_appended(self):
        context = self.make(messages=[SYSTEM])["id"]
        whole = self.chat([SYSTEM, RIVER]).choices[0].message.content
        pieces = list(self.chat([RIVER], context, append=True, stream=True, stream_options={"include_usage": True}))
        self.assertEqual("".join(p.choices[0].delta.content or "" for p in pieces if p.choices), whole)
        self.assertTrue(pieces[-1].context["appended"])
        self.assertEqual(self.show(context)["messages"], 3)

    def test_a_stop_string_is_no_part_of_the_context(self):
        prompt = "One, two, three, four, five, six,"
        whole = self.complete(prompt, max_tokens=16).choices[0].text
        stop = whole.split(",")[1]
        context = self.make(text=prompt)["id"]
        answer = self.complete("", context, max_tokens=16, stop=[stop], extra_body={"context": context, "context_append": True})
        self.assertEqual(answer.choices[0].text, whole[:whole.index(stop)])
        follow = self.complete(" and then", context)
        in_one = self.complete(prompt + answer.choices[0].text + " and then")
        self.assertEqual(follow.usage.prompt_tokens, in_one.usage.prompt_tokens)  # cut between words: the same tokens
        self.assertEqual(follow.choices, in_one.choices)

    def test_thirty_two_forks_take_the_bytes_of_one_and_their_own_tokens(self):
        context = self.make(tokens=numbered(512, 11), pin=True)
        before = self.state()
        per_token = before["occupancy"]["bytes_per_token"]
        self.assertEqual(before["contexts"]["pinned_bytes"], 512 * per_token)
        self.assertEqual(before["bytes_by_use"]["pinned"], 512 * per_token)
        forks = self.do(context["id"], "fork", n=32)["data"]
        state = self.state()
        self.assertEqual(state["contexts"]["pinned"], 33)
        self.assertEqual(state["bytes_by_use"]["pinned"], before["bytes_by_use"]["pinned"])
        self.assertEqual(state["occupancy"]["live_bytes"], before["occupancy"]["live_bytes"])
        for i, fork in enumerate(forks):
            more = self.do(fork["id"], "append", tokens=numbered(16, 100 + i))
            self.assertEqual(more["usage"]["cached_tokens"], 512)
            self.assertEqual(more["own_pinned_bytes"], 16 * per_token)
        pinned = self.state()["bytes_by_use"]["pinned"]
        self.assertLessEqual(pinned, 1.02 * context["pinned_bytes"] + 32 * 16 * per_token)
        self.assertEqual(self.show(context["id"])["children"], sorted(fork["id"] for fork in forks))

    def test_a_released_context_gives_its_bytes_back_where_it_is_to_be_forgotten(self):
        live = self.state()["occupancy"]["live_bytes"]
        context = self.make(tokens=numbered(200, 21), pin=True)["id"]
        fork = self.do(context, "fork")["data"][0]["id"]
        self.complete(numbered(40, 22), fork, extra_body={"context": fork, "context_append": True})
        released = self.release(fork, forget=True)
        self.assertGreater(released["forgotten_bytes"], 40 * 23040)
        self.assertEqual(self.show(context)["pinned_tokens"], 200)
        self.release(context, forget=True)
        self.assertEqual(self.state()["occupancy"]["live_bytes"], live)

    def test_two_appends_at_once_are_one_and_a_conflict(self):
        context = self.make(messages=[SYSTEM])["id"]
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            long = pool.submit(self.chat, [RIVER], context, True, max_tokens=200, extra_body={
                "context": context, "context_append": True, "ignore_eos": True})
            until = time.monotonic() + 30
            while self.state()["engine"]["running"] == 0 and time.monotonic() < until:
                pass
            with self.assertRaises(openai.ConflictError) as raised:
                self.chat([RIVER], context, append=True)
            self.assertEqual(raised.exception.type, "conflict_error")
            self.assertEqual(self.chat([RIVER], context, max_tokens=1).choices[0].finish_reason, "length")
            self.assertEqual(long.result().usage.completion_tokens, 200)
        self.assertEqual(self.show(context)["messages"], 3)

    def test_a_context_expires_and_its_pin_with_it(self):
        context = self.make(tokens=numbered(64, 31), pin=True, ttl_s=4)["id"]
        time.sleep(2.2)
        self.assertEqual(self.do(context, "touch")["ttl_s"], 4)
        time.sleep(2.2)
        self.show(context)  # which is no use
        time.sleep(2.2)
        with self.assertRaises(openai.NotFoundError):
            self.show(context)
        until = time.monotonic() + 30
        while self.state()["contexts"]["pinned_bytes"] and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual(self.state()["contexts"]["pinned_bytes"], 0)
        with self.assertRaises(openai.BadRequestError):
            self.make(text="x", ttl_s=1e8)

    def test_bodies_of_every_kind_leave_the_server_well(self):
        print(f"seed {SEED}")
        draw = random.Random(SEED)
        values = [None, True, 0, 1, -1, 3, 1e300, 2**63, "", "text", "\u0000x", [], [1, 2], [[1]], {}, [{"role": "user", "content": "hi"}],
                  [{"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{\"a\":1}"}}]}]]
        names = ["messages", "text", "tokens", "ttl_s", "pin", "prefill", "cache_salt", "n", "forget", "context", "context_append",
                 "prompt", "max_tokens", "tools", "chat_template_kwargs", "stop"]
        contexts = [self.make(text="a start")["id"], self.make(messages=[RIVER])["id"], "ctx-none", ""]
        known = set()
        for _ in range(400):
            body = {name: draw.choice(values) for name in draw.sample(names, draw.randrange(5))}
            context = draw.choice(contexts)
            paths = ["/v1/contexts", "/v1/chat/completions", "/v1/completions",
                     *(f"/v1/contexts/{context}/{what}" for what in ("fork", "append", "rewind", "touch"))]
            path = draw.choice(paths)
            if "completions" in path:
                body |= {"max_tokens": draw.choice([0, 1, 2, "x"])}
                body |= {"context": context} if draw.random() < 0.7 else {}
            data = json.dumps(body).encode()
            if draw.random() < 0.2:
                data = bytearray(data)
                data[draw.randrange(len(data))] = draw.randrange(256)
            status, _, text = self.server.ask(path, bytes(data))
            self.assertIn(status, (200, 400, 404, 409, 429), (path, data, text))
            known.add(status)
        self.assertTrue({200, 400, 404} <= known, known)
        self.assertEqual(self.server.ask("/health")[0], 200)
        for context in self.client.get("/contexts", cast_to=object)["data"]:
            self.release(context["id"])
        self.assertEqual(self.state()["contexts"]["pinned_bytes"], 0)


@unittest.skipUnless(MODEL.exists(), f"{MODEL.name} is absent, `make models` brings it")
class SmallContextsTest(ContextCase):
    """A budget of some 2,900 tokens, of which contexts may pin 40 %."""

    FLAGS = ("--state-bytes", "64MiB", "--context-pin-share", "0.4", "--max-contexts-per-key", "6", "--eviction", "lru")

    def test_what_is_pinned_survives_pressure_and_what_is_not_goes(self):
        pinned = self.make(tokens=numbered(300, 1), pin=True)["id"]
        loose = self.make(tokens=numbered(300, 2))["id"]
        for salt in range(10, 22):
            self.complete(numbered(400, salt), max_tokens=1)
        cached = lambda context: self.complete(  # noqa: E731
            numbered(10, 3), context, max_tokens=4).usage.prompt_tokens_details
        self.assertEqual(cached(pinned).cached_tokens, 300)
        details = cached(loose).model_dump()
        self.assertEqual((details["cached_tokens"], details["miss_reason"]), (0, "evicted"))
        self.assertEqual(self.complete(numbered(10, 3), pinned).choices, self.complete(numbered(300, 1) + numbered(10, 3)).choices)
        self.assertEqual(self.complete(numbered(10, 3), loose).choices, self.complete(numbered(300, 2) + numbered(10, 3)).choices)

    def test_more_than_may_be_pinned_is_refused_with_the_numbers(self):
        first = self.make(tokens=numbered(800, 41), pin=True)
        with self.assertRaises(openai.RateLimitError) as raised:
            self.make(tokens=numbered(800, 42), pin=True)
        most = int(0.4 * (64 << 20))
        self.assertIn(f"at most {most} may be", raised.exception.message)
        self.assertIn(f"{2 * first['pinned_bytes']} bytes", raised.exception.message)
        self.assertEqual(self.state()["contexts"]["pinned_bytes"], first["pinned_bytes"])
        self.make(tokens=numbered(800, 42))
        self.assertEqual(len(self.do(first["id"], "fork", n=4)["data"]), 4)  # no bytes
        with self.assertRaises(openai.RateLimitError) as raised:
            self.do(first["id"], "fork", n=1)
        self.assertIn("6", raised.exception.message)


@unittest.skipUnless(MODEL.exists(), f"{MODEL.name} is absent, `make models` brings it")
class ContextServersTest(unittest.TestCase):
    def test_to_another_key_a_context_is_not_there(self):
        server = Server("--api-key", "one", "--api-key", "two")
        self.addCleanup(server.stop)
        one, two = ({"Authorization": f"Bearer {key}"} for key in ("one", "two"))
        _, made = server.ask_json("/v1/contexts", {"text": "A secret of the first one"}, one)
        path = f"/v1/contexts/{made['id']}"
        self.assertEqual(server.ask(path, headers=one)[0], 200)
        status, refused = server.ask_json(path, headers=two)
        self.assertEqual((status, refused), (404, server.ask_json("/v1/contexts/ctx-0", headers=two)[1]))
        for what in ("fork", "append", "rewind", "touch"):
            self.assertEqual(server.ask(f"{path}/{what}", {"tokens": 1}, two)[0], 404)
        self.assertEqual(server.ask("/v1/completions", {"prompt": "x", "context": made["id"]}, two)[0], 404)
        self.assertEqual(server.ask_json("/v1/contexts", headers=two)[1]["data"], [])
        self.assertEqual(server.ask(path)[0], 401)

    def test_after_a_restart_contexts_are_gone_and_their_state_comes_from_the_disk(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server("--disk-tier", folder)
            _, made = server.ask_json("/v1/contexts", {"tokens": numbered(512, 51), "pin": True})
            server.stop()
            server = Server("--disk-tier", folder)
            self.addCleanup(server.stop)
            self.assertEqual(server.ask(f"/v1/contexts/{made['id']}")[0], 404)
            _, again = server.ask_json("/v1/contexts", {"tokens": numbered(512, 51), "pin": True})
            self.assertGreaterEqual(again["usage"]["cached_tokens_by_tier"]["disk"], 256)
            self.assertEqual(again["pinned_tokens"], 512)


if __name__ == "__main__":
    unittest.main()
