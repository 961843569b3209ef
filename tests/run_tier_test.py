#!/usr/bin/env python3
"""cairn run with a tier below memory: a prompt that was read once isn't computed again, and answers alike.

Needs `make models`; skips, saying so, where a model is absent. $CAIRN is the program.
"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAIRN = os.environ.get("CAIRN", str(ROOT / "build" / "cairn"))
MODELS = {
    "smollm2": ROOT / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf",
    "gemma3": ROOT / "models" / "gemma-3-270m-q4_k_m.gguf",
}
WORDS = "the river runs past old stone houses and a boat waits under quiet trees while rain begins".split()


def cairn(*arguments, code=0):
    done = subprocess.run([CAIRN, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: exit code {done.returncode}, not {code}: {done.stdout}{done.stderr}")
    return done.stdout


class RunTierTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.tier = self.folder / "tier"
        # 700 tokens: past Gemma's windows of 512, and more than two runs.
        self.prompt = " ".join(random.Random(5).choices(WORDS, k=700))

    def run_model(self, model, prompt, *arguments):
        return json.loads(cairn("run", "-m", model, "-p", prompt, "-n", 12, "--temp", 0, "-c", 2048, "--json",
                                *arguments))

    def each_model(self):
        for name, model in MODELS.items():
            with self.subTest(name):
                if not model.exists():
                    self.skipTest(f"{model.name} is absent; `make models` brings it")
                yield model
                shutil.rmtree(self.tier, ignore_errors=True)

    def test_a_prompt_and_what_follows_it_are_read_from_the_tier_with_the_same_answers(self):
        for model in self.each_model():
            cold = self.run_model(model, self.prompt)
            first = self.run_model(model, self.prompt, "--disk-tier", self.tier)
            again = self.run_model(model, self.prompt, "--disk-tier", self.tier)
            longer = self.prompt + " and then"
            other = self.run_model(model, longer, "--disk-tier", self.tier)
            self.assertEqual(cold["tokens"], first["tokens"])
            self.assertEqual(cold["tokens"], again["tokens"])
            self.assertEqual(self.run_model(model, longer)["tokens"], other["tokens"])
            self.assertEqual(first["loaded_tokens"], 0)
            asked = len(first["prompt_ids"])
            self.assertGreater(again["loaded_tokens"], asked - 257)
            self.assertEqual(again["loaded_tokens"] + again["prompt_tokens"], asked)
            self.assertGreater(other["loaded_tokens"], asked - 257)

    def test_what_was_stored_is_what_the_model_computes_and_a_changed_bit_is_a_miss(self):
        for model in self.each_model():
            first = self.run_model(model, self.prompt, "--disk-tier", self.tier)
            verify = ("state", "verify", self.tier, "--recompute", 4, "-m", model, "-c", 2048, "--json")
            report = json.loads(cairn(*verify))["verify"]
            self.assertEqual(report["recomputed_equal"], 4, report)
            self.assertEqual(report["recomputed_different"], 0)
            other_format = json.loads(cairn(*verify, "-ctk", "q8_0"))["verify"]
            self.assertEqual(other_format["candidates"], 0)

            for segment in self.tier.glob("*"):
                if segment.stat().st_size < 1 << 20:
                    continue
                data = bytearray(segment.read_bytes())
                for at in range(1 << 16, len(data), 1 << 20):
                    data[at] ^= 1
                segment.write_bytes(data)
            self.assertEqual(self.run_model(model, self.prompt, "--disk-tier", self.tier)["tokens"], first["tokens"])
            cairn("state", "gc", self.tier)
            cairn("state", "verify", self.tier)

    def test_state_of_keys_under_other_standards_is_never_read(self):
        for model in self.each_model():
            standards = self.folder / f"{model.stem}.safetensors"
            turned = ("-ctk", "q8_0+std", "-ctv", "q8_0+rot", "--key-standards", standards)
            cold = self.run_model(model, self.prompt, *turned)
            self.run_model(model, self.prompt, *turned, "--disk-tier", self.tier)
            again = self.run_model(model, self.prompt, *turned, "--disk-tier", self.tier)
            self.assertGreater(again["loaded_tokens"], 0)
            self.assertEqual(again["tokens"], cold["tokens"])
            data = bytearray(standards.read_bytes())
            data[-3] ^= 1  # of the last spread: another number, hardly
            standards.write_bytes(data)
            other = self.run_model(model, self.prompt, *turned, "--disk-tier", self.tier)
            self.assertEqual(other["loaded_tokens"], 0)

    def test_a_tier_that_another_process_has_is_refused_by_name(self):
        for model in self.each_model():
            self.tier.mkdir()
            with subprocess.Popen([CAIRN, "run", "-m", model, "-f", "/dev/stdin", "-n", "1", "--disk-tier", self.tier],
                                  stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as holder:
                while holder.poll() is None and not (self.tier / "lock").exists():
                    time.sleep(0.05)
                time.sleep(0.5)
                done = subprocess.run([CAIRN, "run", "-m", model, "-p", "a", "-n", "1", "--disk-tier", self.tier],
                                      capture_output=True, text=True, timeout=600)
                holder.stdin.close()
                holder.wait()
            self.assertIn(done.returncode, (1, 2))
            self.assertIn(str(self.tier), done.stderr)


if __name__ == "__main__":
    unittest.main()
