#!/usr/bin/env python3
"""GGUF files of the models that run from Hugging Face folders give the same logits and keep as much state.

Each case of gguf_*_models.py turns a folder of tests/golden into a GGUF file as llama.cpp's converter does, and runs
both. $CAIRN is the program. PyPI's gguf writes the files, and its table of names must know their tensors.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import gguf_attention_models
import gguf_converters
import gguf_state_models
import gguf_writer
import safetensors_reader

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = gguf_attention_models.CASES + gguf_state_models.CASES
CAIRN = os.environ.get("CAIRN", str(ROOT / "build" / "cairn"))


def golden_tensors(folder):
    return {name: gguf_writer.Tensor(shape, values)
            for name, (shape, values) in safetensors_reader.read(folder / "model.safetensors").items()}  # fmt: skip


class Run:
    """`cairn logits` of the prompt, all positions, float32 state."""

    def __init__(self, model, scratch, prompt):
        tokens, out, state = (str(pathlib.Path(scratch) / name) for name in ("tokens", "out", "state"))
        safetensors_reader.write_tokens(tokens, prompt)
        run = subprocess.run([CAIRN, "logits", "-m", str(model), "--tokens", tokens, "--out", out, "--full", "-ctk", "f32",
                              "-ctv", "f32", "--state-tensors-out", state], capture_output=True, text=True, check=False)  # fmt: skip
        self.error = run.stderr.strip()
        if run.returncode != 0:
            return
        self.logits = safetensors_reader.read(out)["logits"][1]
        self.state = safetensors_reader.read(state)


class GgufModels(unittest.TestCase):
    def compare(self, case, scratch):
        folder = ROOT / "tests" / "golden" / case.golden
        config = json.loads((folder / "config.json").read_text())
        for key, value in case.config.items():
            section, _, name = key.rpartition(".")
            (config[section] if section else config)[name] = value
        copy = scratch / "folder"
        copy.mkdir()
        (copy / "config.json").write_text(json.dumps(config))
        (copy / "model.safetensors").symlink_to(folder / "model.safetensors")
        metadata, tensors = gguf_converters.to_gguf(case, config, golden_tensors(folder))
        path = scratch / "model.gguf"
        gguf_writer.write(path, metadata, tensors)
        self.check_with_package(path)
        prompt = list(safetensors_reader.read(folder / "expected.safetensors")["prompt_ids"][1])
        ours, theirs = Run(path, scratch, prompt), Run(copy, scratch, prompt)
        self.assertEqual(theirs.error, "")
        self.assertEqual(ours.error, "")
        bound = 0.0 if case.same_bits else json.loads((folder / "meta.json").read_text())["suggested_atol"]
        self.assertLessEqual(largest_difference(ours.logits, theirs.logits), bound)
        self.assertEqual({name: shape for name, (shape, _) in ours.state.items()},
                         {name: shape for name, (shape, _) in theirs.state.items()})  # fmt: skip
        if not case.same_state:
            return
        for name, (_, values) in ours.state.items():
            self.assertLessEqual(largest_difference(values, theirs.state[name][1]), bound, name)

    def check_with_package(self, path):
        reader = gguf_writer.gguf.GGUFReader(path)
        self.assertGreater(len(reader.tensors), 0)
        names = {name.format(bid=layer) for name in gguf_writer.gguf.TENSOR_NAMES.values() for layer in range(64)}
        strangers = [t.name for t in reader.tensors if t.name not in names and t.name.rpartition(".")[0] not in names]
        self.assertEqual(strangers, [])

    def test_files_of_each_architecture(self):
        for case in CASES:
            with self.subTest(case.golden), tempfile.TemporaryDirectory() as scratch:
                self.compare(case, pathlib.Path(scratch))

    def test_the_page_lists_the_architectures(self):
        page = (ROOT / "docs" / "models.md").read_text()
        for architecture in {case.architecture for case in CASES}:
            goldens = ", ".join(case.golden for case in CASES if case.architecture == architecture)
            self.assertIn(f"| {architecture} | {goldens} |\n", page)

    def run_changed(self, golden, scratch, keys=None, change=lambda tensors: None):
        """The golden's file with other keys and tensors."""
        case = next(case for case in CASES if case.golden == golden)
        folder = ROOT / "tests" / "golden" / golden
        config = json.loads((folder / "config.json").read_text())
        metadata, tensors = gguf_converters.to_gguf(case, config, golden_tensors(folder))
        metadata |= {f"{case.architecture}.{key}": value for key, value in (keys or {}).items()}
        change(tensors)
        gguf_writer.write(scratch / "changed.gguf", metadata, tensors)
        prompt = list(safetensors_reader.read(folder / "expected.safetensors")["prompt_ids"][1])
        return Run(scratch / "changed.gguf", scratch, prompt)

    def test_variants_that_are_not_known_are_refused_by_name(self):
        variants = [("qwen3", {"rope.scaling.type": "spiral"}, "qwen3.rope.scaling.type"),
                    ("glm4_moe_lite", {"attention.temperature_scale": 0.1}, "deepseek2.attention.temperature_scale"),
                    ("glm4_moe_lite", {"expert_gating_func": 4}, "deepseek2.expert_gating_func"),
                    ("mamba", {"ssm.dt_b_c_rms": True}, "mamba.ssm.dt_b_c_rms")]  # fmt: skip
        for golden, keys, named in variants:
            with self.subTest(named), tempfile.TemporaryDirectory() as scratch:
                self.assertIn(named, self.run_changed(golden, pathlib.Path(scratch), keys).error)

    def test_a_tensor_that_nothing_reads_is_refused_by_name(self):
        def change(tensors):
            tensors["blk.0.attn_stranger.weight"] = tensors["blk.0.attn_norm.weight"]

        with tempfile.TemporaryDirectory() as scratch:
            self.assertIn("blk.0.attn_stranger.weight", self.run_changed("qwen3", pathlib.Path(scratch), change=change).error)

    def test_stacks_of_experts_may_be_quantized(self):
        def quantized(tensors):
            tensors.update({name: tensor.quantized() for name, tensor in tensors.items() if "_exps." in name})

        def stored(tensors):
            tensors.update({name: tensor.quantized().stored() for name, tensor in tensors.items() if "_exps." in name})

        with tempfile.TemporaryDirectory() as scratch:
            ours = self.run_changed("qwen3_moe", pathlib.Path(scratch), change=quantized)
            exact = self.run_changed("qwen3_moe", pathlib.Path(scratch), change=stored)
        self.assertEqual(ours.error + exact.error, "")
        # Both hold the same weights; one multiplies them by inputs of eight bits, and few tokens choose other experts then.
        bound = 0.03 * max(abs(x) for x in exact.logits)
        tokens = [range(first, first + 256) for first in range(0, len(exact.logits), 256)]
        near = sum(all(abs(ours.logits[i] - exact.logits[i]) <= bound for i in token) for token in tokens)
        self.assertGreater(near, 0.75 * len(tokens))


def largest_difference(ours, theirs):
    assert len(ours) == len(theirs)
    if ours.tobytes() == theirs.tobytes():
        return 0.0
    return max(abs(a - b) if a == a and b == b else float("inf") for a, b in zip(ours, theirs))


if __name__ == "__main__":
    unittest.main()
