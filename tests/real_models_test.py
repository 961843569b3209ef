#!/usr/bin/env python3
"""Two real models: as close to float32 as llama.cpp at least, and bit-equal to themselves.

Needs `make models`; skips, saying so, where a model is absent. $CAIRN is the program.
"""

import json
import math
import os
import pathlib
import subprocess
import tempfile
import unittest

import safetensors_reader

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAIRN = os.environ.get("CAIRN", str(ROOT / "build" / "cairn"))
MODELS = {
    # llama.cpp's mean KL divergence, 99th percentile and share of equal top-1 tokens, measured on the
    # same tokens with an f16 state; Cairn must not be worse.
    "smollm2": (ROOT / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf", 0.00256, 0.0140, 0.9590),
    "gemma3": (ROOT / "models" / "gemma-3-270m-q4_k_m.gguf", 0.00406, 0.0221, 0.9531),
}
# A near-tie: the reference itself is within this of choosing another token.
NEAR_TIE_LOGPROB = 0.25


def cairn(*arguments):
    done = subprocess.run([CAIRN, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def divergences(reference, ours):
    """KL(reference || ours) of each token over the reference's 64 likeliest tokens and the rest."""
    (rows, width), ids = reference["top64_ids"]
    _, logprobs = reference["top64_logprob"]
    top_name = next(name for name in ours if name.endswith("_ids"))
    (_, our_width), our_ids = ours[top_name]
    _, our_logprobs = ours[top_name.replace("_ids", "_logprob")]
    result = []
    for row in range(rows):
        mine = dict(zip(our_ids[row * our_width : (row + 1) * our_width],
                        our_logprobs[row * our_width : (row + 1) * our_width]))
        floor = min(mine.values())
        total, p_rest, q_rest = 0.0, 1.0, 1.0
        for i in range(row * width, (row + 1) * width):
            log_q = mine.get(ids[i], floor)
            p = math.exp(logprobs[i])
            total += p * (logprobs[i] - log_q)
            p_rest -= p
            q_rest -= math.exp(log_q)
        if p_rest > 1e-9:
            total += p_rest * math.log(p_rest / max(q_rest, 1e-9))
        result.append(total)
    return result


class RealModels(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return pathlib.Path(self.folder.name) / name

    def each(self):
        """(name, path, limits) of the models that are here."""
        present = []
        for name, (model, *limits) in MODELS.items():
            if model.exists():
                present.append((name, model, limits))
            else:
                print(f"skipped {name}: {model.name} is absent, `make models` brings it")
        return present

    def tokens_of(self, name, count=None):
        reference = safetensors_reader.read(ROOT / "tests" / "real" / f"{name}.moby1024.safetensors")
        path = self.path(f"{name}.tokens.safetensors")
        safetensors_reader.write_tokens(path, reference["tokens"][1][:count])
        return reference, path

    def test_distributions_are_as_close_to_float32_as_llama_cpps(self):
        for name, model, (mean_limit, p99_limit, top1_limit) in self.each():
            reference, tokens = self.tokens_of(name)
            out = self.path("out.safetensors")
            cairn("logits", "-m", model, "--tokens", tokens, "--top", 2048, "--out", out)
            ours = safetensors_reader.read(out)
            kl = sorted(divergences(reference, ours))
            mean = sum(kl) / len(kl)
            p99 = kl[int(0.99 * len(kl))]
            (rows, width), ids = reference["top64_ids"]
            (_, our_width), our_ids = ours["top2048_ids"]
            top1 = sum(ids[r * width] == our_ids[r * our_width] for r in range(rows)) / rows
            print(f"{name}: mean KL {mean:.5f} (at most {mean_limit}), 99th percentile {p99:.4f}, top-1 equal {top1:.4f}")
            self.assertLessEqual(mean, mean_limit)
            self.assertLessEqual(p99, p99_limit)
            self.assertGreaterEqual(top1, top1_limit)

    def test_chunks_threads_and_forks_change_no_byte(self):
        count = 700
        for name, model, _ in self.each():
            _, tokens = self.tokens_of(name, count)
            files = []
            for flags in (["--chunk", 1024], ["--chunk", 1, "-t", 2], ["--chunk", 7, "-t", 1],
                          ["--chunk", 64, "-t", 2], ["--chunk", 64, "--fork-at", 500, "-t", 2]):
                out, state = self.path("out.safetensors"), self.path("state.safetensors")
                cairn("logits", "-m", model, "--tokens", tokens, "--out", out, "--state-out", state, *flags)
                files.append((flags, out.read_bytes(), state.read_bytes()))
            for flags, out, state in files[1:]:
                self.assertTrue(out == files[0][1], f"{name}: logits differ with {flags}")
                self.assertTrue(state == files[0][2], f"{name}: state differs with {flags}")

    def test_greedy_continuations_agree_until_the_first_near_tie(self):
        for name, model, _ in self.each():
            cases = json.loads((ROOT / "tests" / "real" / f"{name}.greedy.json").read_text())
            for case in cases:
                answer = json.loads(cairn("run", "-m", model, "-p", case["prompt"], "--temp", 0,
                                          "-n", 32, "--json", "-c", 512))
                self.assertEqual(answer["prompt_ids"], case["ids"], case["prompt"])
                self.check_agreement(model, case, answer["tokens"])

    def check_agreement(self, model, case, ours):
        expected = case["greedy"]
        for i, (ours_id, expected_id) in enumerate(zip(ours, expected)):
            if ours_id == expected_id:
                continue
            tokens = self.path("prefix.safetensors")
            safetensors_reader.write_tokens(tokens, case["ids"] + expected[:i])
            out = self.path("prefix.out.safetensors")
            cairn("logits", "-m", model, "--tokens", tokens, "--out", out)
            (rows, width), logprobs = safetensors_reader.read(out)["top64_logprob"]
            last = logprobs[(rows - 1) * width :]
            self.assertLess(last[0] - last[1], NEAR_TIE_LOGPROB,
                            f"{case['prompt']!r}: token {i} is {ours_id}, not {expected_id}, without a near-tie")
            return

    def test_a_session_goes_on_with_the_same_answer_whether_its_state_is_whole_or_not(self):
        for name, model, _ in self.each():
            session = self.path(f"{name}.session")

            def say(text):
                return json.loads(cairn("run", "-m", model, "-p", text, "-n", 12, "--temp", 0, "--ignore-eos",
                                        "--json", "-c", 512, "--session", session))

            first = say("The three largest cities of Italy are")
            self.assertEqual(first["kept_tokens"], 0)
            saved = pathlib.Path(session).read_bytes()
            second = say(" and those of France")
            self.assertEqual(second["kept_tokens"], len(first["prompt_ids"]) + 12)
            self.assertNotIn(first["prompt_ids"][0], second["prompt_ids"][:1], "a second BOS")
            damaged = bytearray(saved)
            damaged[-100] ^= 1
            pathlib.Path(session).write_bytes(damaged)
            self.assertEqual(say(" and those of France")["tokens"], second["tokens"])

    def test_predicted_and_live_state_are_equal(self):
        for _, model, _ in self.each():
            for length in (1, 100, 1024):
                answer = json.loads(cairn("run", "-m", model, "-p", "a" + " a" * (length - 2), "-n", 1,
                                          "--json", "-c", 2048))
                state = answer["state"]
                size = json.loads(cairn("size", model, "--context", state["tokens"], "--json"))
                self.assertEqual(state["predicted_bytes"], state["live_bytes"])
                self.assertIn(f'"allocated_bytes": {state["live_bytes"]}', json.dumps(size))


if __name__ == "__main__":
    unittest.main()
