#!/usr/bin/env python3
"""cairn serve, as clients of OpenAI's API and of llama-server use it, and as nobody should.

Needs `make models` for a real model; skips, saying so, where it is absent. $CAIRN is the program.
"""

import asyncio
import concurrent.futures
import json
import math
import resource
import signal
import socket
import sys
import time
import unittest

import serve_process
from serve_process import MODEL, ROOT, Server

sys.path.insert(0, str(ROOT / "build" / "python"))
import anthropic  # noqa: E402
import openai  # noqa: E402

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
LONG = "The quick brown fox jumps over the lazy dog. " * 20


@unittest.skipUnless(MODEL.exists(), f"{MODEL.name} is absent, `make models` brings it")
class ServeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.client = openai.OpenAI(base_url=cls.server.url + "/v1", api_key="none", max_retries=0)
        cls.anthropic = anthropic.Anthropic(base_url=cls.server.url, api_key="none", max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.anthropic.close()
        cls.server.stop()

    def chat(self, **more):
        return self.client.chat.completions.create(
            **{"model": "m", "messages": QUESTION, "max_tokens": 8, "temperature": 0, **more})

    def complete(self, prompt, **more):
        return self.client.completions.create(
            **{"model": "m", "prompt": prompt, "max_tokens": 8, "temperature": 0, **more})

    # ---- what llama-server's own tests check ----

    def test_a_chat_answer_has_the_shape_that_clients_check(self):
        answer = self.chat(model="some name")
        self.assertIn("cmpl", answer.id)
        self.assertTrue(answer.system_fingerprint.startswith("b"))
        self.assertEqual(answer.model, "some name")
        self.assertEqual(answer.object, "chat.completion")
        self.assertEqual(answer.choices[0].message.role, "assistant")
        self.assertEqual(answer.choices[0].finish_reason, "length")
        self.assertEqual(answer.usage.completion_tokens, 8)
        self.assertEqual(answer.usage.total_tokens, answer.usage.prompt_tokens + 8)

    def test_a_stream_names_the_role_first_and_ends_with_an_empty_delta_usage_and_done(self):
        body = {"messages": QUESTION, "max_tokens": 6, "temperature": 0, "stream": True,
                "stream_options": {"include_usage": True}}
        *events, done = self.server.events("/v1/chat/completions", body)
        self.assertEqual(done, "[DONE]")
        *chunks, usage = map(json.loads, events)
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
        self.assertEqual(deltas[0], {"role": "assistant", "content": None})
        self.assertEqual(deltas[-1], {})
        self.assertTrue(all("role" not in delta for delta in deltas[1:]))
        self.assertEqual([c["choices"][0]["finish_reason"] for c in chunks], [None] * (len(chunks) - 1) + ["length"])
        self.assertEqual(usage["choices"], [])
        self.assertEqual(usage["usage"]["completion_tokens"], 6)
        self.assertIn("timings", usage)
        whole = self.chat(max_tokens=6).choices[0].message.content
        self.assertEqual("".join(delta.get("content") or "" for delta in deltas), whole)

    def test_openais_client_reads_a_stream(self):
        pieces = list(self.chat(stream=True, max_tokens=5))
        self.assertEqual(pieces[0].choices[0].delta.role, "assistant")
        self.assertEqual(pieces[-1].choices[0].finish_reason, "length")

    def test_a_prompt_that_was_read_before_is_computed_from_its_last_token_on(self):
        prompt = "Once upon a time in a land of many rivers there lived a miller, and"
        cached = lambda answer: answer.usage.prompt_tokens_details.cached_tokens  # noqa: E731
        first = self.complete(prompt)
        self.assertEqual(cached(first), 0)
        second = self.complete(prompt)
        self.assertEqual(cached(second), second.usage.prompt_tokens - 1)
        self.assertEqual(second.choices[0].text, first.choices[0].text)
        details = second.usage.prompt_tokens_details.model_dump()
        self.assertEqual(details["cached_tokens_by_tier"], {"memory": second.usage.prompt_tokens - 1})
        self.assertEqual(details["miss_reason"], "none")
        third = self.complete(prompt.replace("miller", "weaver"))
        self.assertTrue(0 < cached(third) < third.usage.prompt_tokens - 1)
        self.assertEqual(third.usage.prompt_tokens_details.model_dump()["miss_reason"], "diverged")

    def test_errors_have_code_message_type_and_the_fields_name(self):
        status, answer = self.server.ask_json("/v1/chat/completions", {"messages": QUESTION, "temperature": "hot"})
        self.assertEqual((status, answer["error"]["code"]), (400, 400))
        self.assertEqual(answer["error"]["type"], "invalid_request_error")
        self.assertEqual(answer["error"]["param"], "temperature")
        with self.assertRaises(openai.BadRequestError) as raised:
            self.chat(messages=[{"role": "user", "content": LONG * 20}])
        self.assertEqual(raised.exception.type, "exceed_context_size_error")
        self.assertEqual(raised.exception.body["n_ctx"], 1024)
        self.assertGreater(raised.exception.body["n_prompt_tokens"], 1024)
        status, answer = self.server.ask_json("/slots")
        self.assertEqual((status, answer["error"]["type"]), (501, "not_supported_error"))
        status, answer = self.server.ask_json("/nothing")
        self.assertEqual((status, answer["error"]["type"]), (404, "not_found_error"))

    def test_props_are_those_of_llama_server_and_name_no_folder(self):
        status, props = self.server.ask_json("/props")
        self.assertEqual(status, 200)
        self.assertEqual(props["total_slots"], 64)
        self.assertEqual(props["default_generation_settings"]["n_ctx"], 1024)
        self.assertEqual(props["model_path"], MODEL.name)
        self.assertIn("im_start", props["chat_template"])
        self.assertEqual(props["build_info"], self.chat(max_tokens=1).system_fingerprint)

    def test_models_health_and_text_endpoints_answer(self):
        self.assertEqual(self.server.ask_json("/health"), (200, {"status": "ok"}))
        self.assertEqual(self.client.models.list().data[0].id, MODEL.stem)
        _, tokens = self.server.ask_json("/tokenize", {"content": "hello world"})
        _, text = self.server.ask_json("/detokenize", tokens)
        self.assertEqual(text["content"], "hello world")
        _, rendered = self.server.ask_json("/apply-template", {"messages": QUESTION})
        self.assertTrue(rendered["prompt"].endswith("<|im_start|>assistant\n"))

    # ---- what answers are made of ----

    def test_openais_client_gets_embeddings_that_say_what_is_alike(self):
        texts = ["The cat sleeps on the sofa.", "A kitten naps on the couch.", "Interest rates rose by two percent."]
        answer = self.client.embeddings.create(model="m", input=texts)
        self.assertEqual([each.index for each in answer.data], [0, 1, 2])
        cat, kitten, rates = (each.embedding for each in answer.data)
        self.assertEqual(len(cat), 576)
        self.assertAlmostEqual(math.hypot(*cat), 1, delta=1e-6)
        self.assertGreater(sum(map(float.__mul__, cat, kitten)), sum(map(float.__mul__, cat, rates)))
        tokens = [self.server.ask_json("/tokenize", {"content": text})[1]["tokens"] for text in texts]
        self.assertEqual(answer.usage.prompt_tokens, sum(map(len, tokens)))
        # As numbers, as token ids, one by one: the same bits.
        numbers = self.client.embeddings.create(model="m", input=tokens, encoding_format="float")
        self.assertEqual([each.embedding for each in numbers.data], [cat, kitten, rates])
        self.assertEqual(self.client.embeddings.create(model="m", input=texts[1]).data[0].embedding, kitten)
        short = self.client.embeddings.create(model="m", input=texts[0], dimensions=64).data[0].embedding
        length = math.hypot(*cat[:64])
        for ours, whole in zip(short, cat[:64], strict=True):
            self.assertAlmostEqual(ours, whole / length, delta=1e-6)
        with self.assertRaises(openai.BadRequestError) as told:
            self.client.embeddings.create(model="m", input="x", dimensions=577)
        self.assertEqual(told.exception.param, "dimensions")

    def test_a_servers_pooling_can_be_chosen(self):
        server = Server("--pooling", "mean")
        self.addCleanup(server.stop)
        tokens = self.server.ask_json("/tokenize", {"content": "one two three"})[1]["tokens"]
        _, mean = server.ask_json("/v1/embeddings", {"input": tokens})
        _, last = self.server.ask_json("/v1/embeddings", {"input": tokens})
        self.assertNotEqual(mean["data"], last["data"])
        # Of one token both are the same.
        for body in ({"input": tokens[:1]}, {"input": [tokens[:1]], "encoding_format": "base64"}):
            self.assertEqual(server.ask_json("/v1/embeddings", body), self.server.ask_json("/v1/embeddings", body))

    def test_several_answers_are_forks_that_count_the_prompt_once(self):
        before = self.server.metric("cairn_prompt_tokens_computed_total")
        answer = self.complete(LONG, n=4, temperature=1, seed=7)
        self.assertEqual(len(answer.choices), 4)
        self.assertGreater(len({choice.text for choice in answer.choices}), 1)
        self.assertEqual(answer.usage.completion_tokens, 32)
        computed = self.server.metric("cairn_prompt_tokens_computed_total") - before
        self.assertLessEqual(computed, answer.usage.prompt_tokens)

    def test_a_seed_gives_the_same_answer_alone_or_in_company(self):
        alone = self.complete("The sea", seed=11, temperature=1).choices[0].text
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            texts = [pool.submit(self.complete, "The sea", seed=11, temperature=1) for _ in range(3)]
            [pool.submit(self.complete, f"{i} {LONG}", temperature=1) for i in range(3)]
            for each in texts:
                self.assertEqual(each.result().choices[0].text, alone)

    def test_a_stop_string_ends_the_answer_before_it(self):
        whole = self.complete("One, two, three,", max_tokens=12).choices[0].text
        stop = whole[5:8]
        answer = self.complete("One, two, three,", max_tokens=12, stop=[stop])
        self.assertEqual(answer.choices[0].text, whole[:whole.index(stop)])
        self.assertEqual(answer.choices[0].finish_reason, "stop")

    def test_logprobs_are_of_the_tokens_that_were_chosen(self):
        answer = self.chat(logprobs=True, top_logprobs=3)
        content = answer.choices[0].logprobs.content
        self.assertEqual(len(content), 8)
        for token in content:
            self.assertEqual(len(token.top_logprobs), 3)
            self.assertEqual(token.logprob, token.top_logprobs[0].logprob)  # greedy
        self.assertEqual(b"".join(bytes(t.bytes) for t in content).decode(), answer.choices[0].message.content)
        completion = self.complete("The sea", logprobs=2).choices[0].logprobs
        self.assertEqual(len(completion.tokens), len(completion.token_logprobs))
        self.assertEqual(completion.text_offset[0], 0)

    def test_a_forbidden_token_does_not_come(self):
        first = self.complete("The sea", max_tokens=1, logprobs=0)
        _, found = self.server.ask_json("/tokenize", {"content": first.choices[0].text})
        other = self.complete("The sea", max_tokens=1, logit_bias={str(found["tokens"][0]): -100})
        self.assertNotEqual(other.choices[0].text, first.choices[0].text)

    def test_an_answer_follows_its_schema(self):
        schema = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 20},
                                                   "size": {"enum": ["small", "large"]},
                                                   "people": {"type": "integer"}},
                  "required": ["city", "size", "people"], "additionalProperties": False}
        shape = {"type": "json_schema", "json_schema": {"name": "city", "schema": schema}}
        for seed in range(3):
            answer = self.chat(max_tokens=100, temperature=1, seed=seed, response_format=shape, n=2)
            for choice in answer.choices:
                self.assertEqual(choice.finish_reason, "stop")
                found = json.loads(choice.message.content)
                self.assertEqual(list(found), ["city", "size", "people"])
                self.assertIn(found["size"], ["small", "large"])
                self.assertIsInstance(found["people"], int)
        with self.assertRaises(openai.BadRequestError) as raised:
            self.chat(response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "strng"}}})
        self.assertEqual(raised.exception.param, "response_format.json_schema.schema")

    def test_a_forced_tool_is_called_with_what_its_schema_says(self):
        parameters = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 12}},
                      "required": ["city"], "additionalProperties": False}
        tools = [{"type": "function", "function": {"name": name, "parameters": parameters}}
                 for name in ("weather", "news")]
        choice = {"type": "function", "function": {"name": "news"}}
        answer = self.chat(tools=tools, tool_choice=choice, max_tokens=60)
        self.assertEqual(answer.choices[0].finish_reason, "tool_calls")
        call, = answer.choices[0].message.tool_calls
        self.assertEqual(call.function.name, "news")
        self.assertEqual(list(json.loads(call.function.arguments)), ["city"])
        pieces = list(self.chat(tools=tools, tool_choice="required", max_tokens=60, stream=True))
        call = next(p.choices[0].delta.tool_calls[0] for p in pieces if p.choices[0].delta.tool_calls)
        self.assertIn(call.function.name, ("weather", "news"))
        message = self.message(max_tokens=60, tool_choice={"type": "tool", "name": "news"},
                               tools=[{"name": "news", "input_schema": parameters}])
        self.assertEqual(message.stop_reason, "tool_use")
        self.assertEqual((message.content[0].type, message.content[0].name), ("tool_use", "news"))
        with self.assertRaises(openai.BadRequestError) as raised:  # this model's template knows no tools
            self.chat(tools=tools)
        self.assertEqual(raised.exception.param, "tools")

    def test_state_is_shared_within_a_salt_only(self):
        cached = lambda salt: self.complete(  # noqa: E731
            "A salted prompt about a lighthouse", extra_body={"cache_salt": salt}
        ).usage.prompt_tokens_details.cached_tokens
        self.assertEqual(cached("a"), 0)
        self.assertGreater(cached("a"), 0)
        self.assertEqual(cached("b"), 0)

    def test_state_and_metrics_tell_what_is_held(self):
        self.complete("Something to keep")
        _, state = self.server.ask_json("/state")
        self.assertGreater(state["tree"]["nodes"], 0)
        self.assertEqual(state["tree"]["policy"], "cost")
        occupancy = state["occupancy"]
        self.assertEqual(occupancy["live_bytes"], sum(each["live_bytes"] for each in occupancy["classes"]))
        self.assertGreater(self.server.metric("cairn_time_to_first_token_seconds_count"), 0)
        self.assertEqual(self.server.metric('cairn_state_bytes{kind="budget"}'), 4 << 30)

    # ---- Anthropic's API ----

    def message(self, **more):
        return self.anthropic.messages.create(**{"model": "m", "max_tokens": 8, "messages": QUESTION,
                                                 "extra_body": {"temperature": 0}, **more})

    def test_anthropics_client_gets_the_answer_that_openais_gets(self):
        system = "You answer in one word."
        theirs = self.chat(messages=[{"role": "system", "content": system}, *QUESTION])
        blocks = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
        message = self.message(system=blocks)
        self.assertEqual(message.content[0].text, theirs.choices[0].message.content)
        reasons = {"stop": "end_turn", "length": "max_tokens"}
        self.assertEqual(message.stop_reason, reasons[theirs.choices[0].finish_reason])
        self.assertEqual(message.usage.input_tokens, 1)
        self.assertEqual(message.usage.cache_read_input_tokens, theirs.usage.prompt_tokens - 1)
        count = self.anthropic.messages.count_tokens(model="m", system=blocks, messages=QUESTION)
        self.assertEqual(count.input_tokens, theirs.usage.prompt_tokens)

    def test_anthropics_client_reads_a_stream(self):
        whole = self.message()
        with self.anthropic.messages.stream(
                model="m", max_tokens=8, messages=QUESTION, extra_body={"temperature": 0}) as stream:
            text = "".join(stream.text_stream)
            final = stream.get_final_message()
        self.assertEqual(text, whole.content[0].text)
        self.assertEqual(final.stop_reason, "max_tokens")
        self.assertEqual(final.usage.output_tokens, 8)
        self.assertEqual(final.usage.input_tokens + final.usage.cache_read_input_tokens,
                         whole.usage.input_tokens + whole.usage.cache_read_input_tokens)

    def test_anthropics_client_understands_errors(self):
        with self.assertRaises(anthropic.BadRequestError) as raised:
            self.message(messages=[{"role": "user", "content": LONG * 20}])
        self.assertEqual(raised.exception.body["error"]["type"], "invalid_request_error")

    # ---- what nobody should send ----

    def test_a_client_that_leaves_frees_its_answer_streamed_or_not(self):
        for stream in (False, True):
            before = self.server.metric('cairn_http_faults_total{kind="left"}')
            body = json.dumps({"prompt": "x", "max_tokens": 900, "ignore_eos": True, "stream": stream}).encode()
            connection = socket.create_connection(("127.0.0.1", self.server.port))
            connection.sendall(b"POST /v1/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            self.wait(lambda: self.server.ask_json("/state")[1]["engine"]["running"] > 0)
            connection.close()
            self.wait(lambda: self.server.ask_json("/state")[1]["engine"]["running"] == 0, seconds=5)
            self.assertEqual(self.server.metric('cairn_http_faults_total{kind="left"}'), before + 1)

    def wait(self, holds, seconds=30):
        until = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), until, "it didn't come to be in time")
            time.sleep(0.01)

    def test_bodies_that_are_wrong_get_400_and_the_server_goes_on(self):
        deep = b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        for body in (b"", b"{", b"\xff\xfe\x00", deep, b'{"temperature":NaN}', b"[]", b"null", b'"x"',
                     b'{"messages":[{"role":"user","content":"\xc3\x28"}]}', b'{"messages":{},"n":1e400}'):
            status, answer = self.server.ask_json("/v1/chat/completions", body)
            self.assertEqual(status, 400, body[:40])
            self.assertTrue(answer["error"]["param"], body[:40])
        for field, value in (("max_tokens", -1), ("n", 0), ("n", 1000), ("stop", 5), ("top_p", 2), ("seed", "x"),
                             ("stream", "yes"), ("logit_bias", {"x": 1}), ("messages", "hi"), ("tools", {}),
                             ("response_format", {"type": "yaml"}), ("presence_penalty", 1)):
            status, answer = self.server.ask_json("/v1/chat/completions", {"messages": QUESTION, field: value})
            self.assertEqual(status, 400, field)
            self.assertTrue(answer["error"]["param"].startswith(field), answer)
        self.assertEqual(self.server.ask("/health")[0], 200)

    def test_bytes_that_are_no_http_are_answered_or_dropped(self):
        self.assertIn("400", self.server.send(b"\x16\x03\x01\x00\xa5\x01\x00\x00")[:15])
        self.assertIn("400", self.server.send(b"GET / HTTP/9.9\r\n\r\n")[:15])
        self.assertIn("431", self.server.send(b"GET / HTTP/1.1\r\nA: " + b"a" * 100_000 + b"\r\n\r\n")[:15])
        self.assertIn("413", self.server.send(b"POST /tokenize HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n")[:15])
        smuggled = b"POST /tokenize HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        self.assertIn("400", self.server.send(smuggled)[:15])
        self.assertIn("404", self.server.send(b"GET /../../etc/passwd HTTP/1.1\r\nConnection: close\r\n\r\n")[:15])
        self.server.send(b"GET /health HT", read=False)
        self.assertEqual(self.server.ask("/health")[0], 200)

    def test_a_thousand_connections_are_held_while_others_are_answered(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 3000:
            self.skipTest(f"only {hard} files may be open")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 3000), hard))
        held = [socket.create_connection(("127.0.0.1", self.server.port)) for _ in range(1000)]
        try:
            for each in held:
                each.sendall(b"POST /v1/completions HTTP/1.1\r\nContent-Length: 100\r\n\r\n{")
            self.assertEqual(len(self.chat().choices), 1)
            self.assertGreaterEqual(self.server.metric("cairn_http_connections"), 1000)
        finally:
            for each in held:
                each.close()

    def test_a_thousand_streams_that_begin_at_once_are_all_answered(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 3000:
            self.skipTest(f"only {hard} files may be open")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 3000), hard))

        async def ask(i):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
            body = json.dumps({"prompt": f"Number {i}", "max_tokens": 1, "stream": True}).encode()
            writer.write(b"POST /v1/completions HTTP/1.1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
                         % (len(body), body))
            answer = await reader.read(-1)
            writer.close()
            return answer.startswith(b"HTTP/1.1 200") and b"data: [DONE]" in answer

        async def ask_all():
            return await asyncio.gather(*(ask(i) for i in range(1000)))

        self.assertEqual(sum(asyncio.run(ask_all())), 1000)


@unittest.skipUnless(MODEL.exists(), f"{MODEL.name} is absent, `make models` brings it")
class ServerFlagsTest(unittest.TestCase):
    def test_keys_are_asked_for_and_do_not_share_state(self):
        server = Server("--api-key", "one", "--api-key", "two", "--alias", "tiny")
        try:
            self.assertEqual(server.ask("/health")[0], 200)
            self.assertEqual(server.ask_json("/v1/models")[1]["data"][0]["id"], "tiny")
            for headers in ({}, {"Authorization": "Bearer three"}, {"Authorization": "one"}):
                status, answer = server.ask_json("/v1/completions", {"prompt": "x"}, headers)
                self.assertEqual((status, answer["error"]["type"]), (401, "authentication_error"))
            cached = []
            for key in ("one", "one", "two"):
                _, answer = server.ask_json("/v1/completions", {"prompt": "A long enough prompt", "max_tokens": 1},
                                            {"Authorization": f"Bearer {key}"})
                cached.append(answer["usage"]["prompt_tokens_details"]["cached_tokens"])
            self.assertEqual([count > 0 for count in cached], [False, True, False])
        finally:
            server.stop()

    def test_a_slow_request_is_given_up(self):
        server = Server("--request-timeout", "0.5")
        try:
            self.assertIn("408", server.send(b"POST /tokenize HTTP/1.1\r\nContent-Length: 10\r\n\r\n{")[:15])
        finally:
            server.stop()

    def test_a_signal_lets_answers_end_and_the_server_with_them(self):
        for with_signal in (signal.SIGTERM, signal.SIGINT):
            server = Server()
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                answer = pool.submit(server.ask_json, "/v1/completions",
                                     {"prompt": "x", "max_tokens": 100, "ignore_eos": True})
                until = time.monotonic() + 30
                while server.ask_json("/state")[1]["engine"]["running"] == 0 and time.monotonic() < until:
                    pass
                self.assertEqual(server.stop(with_signal), 0)
                status, body = answer.result()
                self.assertEqual((status, body["usage"]["completion_tokens"]), (200, 100))

    def test_an_answer_that_takes_longer_than_the_drain_is_cut_and_given(self):
        server = Server("--drain-timeout", "0.3")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(server.ask_json, "/v1/completions",
                                 {"prompt": "x", "max_tokens": 1000, "ignore_eos": True})
            until = time.monotonic() + 30
            while server.ask_json("/state")[1]["engine"]["running"] == 0 and time.monotonic() < until:
                pass
            self.assertEqual(server.stop(), 0)
            status, body = answer.result()
            self.assertEqual((status, body["choices"][0]["finish_reason"]), (200, "length"))
            self.assertLess(body["usage"]["completion_tokens"], 1000)

    def test_flags_that_are_wrong_end_it_with_one_line(self):
        for flags, words in ((("--api-key", ""), "API key"), (("--host", "203.0.113.7"), "--host 203.0.113.7"),
                             (("--eviction", "magic"), "magic"), (("--top-p", "3"), "--top-p")):
            with self.assertRaises(AssertionError) as raised:
                Server(*flags)
            self.assertIn(words, str(raised.exception))


if __name__ == "__main__":
    print(serve_process.CAIRN)
    unittest.main()
