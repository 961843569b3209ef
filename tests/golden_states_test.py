#!/usr/bin/env python3
"""cairn size against what reference implementations of small random models keep, byte for byte.

Each golden's state.json says for every layer how many bytes are kept after 1, 2, ... tokens in a float32 model, and after
the prompt in a bfloat16 model. Where a reference keeps more than the next token needs, the golden is named below with the
reason; everything else must be equal. The parameters must be the sum of the golden's tensors.
"""

import json
import math
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAIRN = os.environ.get("CAIRN", str(ROOT / "build" / "cairn"))
FOLDERS = sorted((ROOT / "tests" / "golden").glob("*/state.json"))
# Written from papers, by a program of ours: no library keeps their state in a bfloat16 model.
FROM_PAPERS = {"hunyuan_cla", "hunyuan_cla_plain", "kimi_k3", "retnet"}
REFERENCES = [path for path in FOLDERS if path.parent.name not in FROM_PAPERS]

# A convolution of kernel k needs the k - 1 inputs before the next; these keep k columns. (zaya's two convolutions, one
# behind the other, need both of its columns; qwen4_exp's n-gram convolution keeps what it needs.)
KEEPS_A_COLUMN_MORE = {
    "bailing_hybrid", "falcon_h1", "falcon_h1_norm", "glm5_next_text", "jamba", "kimi_linear", "lfm2", "mamba", "mamba2",
    "nemotron_h", "nemotron_h_latent", "qwen3_5_moe_text", "qwen3_5_text", "qwen3_next", "qwen4_exp_text"}
# A chunk that is complete is never read again; this one keeps the last chunk - 1 tokens as if they were a window.
KEEPS_FINISHED_CHUNKS = {"llama4_text"}
# Keys and values are one tensor; layers without compression keep it twice.
KEEPS_VALUES_THAT_ARE_KEYS = {"deepseek_v4"}
# The state of lightning attention in the model's own 16 bits; it is counted in float32, as its kernels keep it.
KEEPS_SUMS_IN_16_BITS = {"minimax", "minimax_linear_first"}
# Gates of the last complete window with their float32 bias added; before it is added 16 bits hold them.
KEEPS_GATES_WITH_BIAS = {"deepseek_v4"}

# Tables that a file holds and that its config determines.
COMPUTED_TABLES = re.compile(r"\.(slope_rate|query_decay|key_decay|diagonal_decay)$")
# Not of the text model.
OTHER_TOWERS = re.compile(r"^(model\.visual|vision_encoder|vision_language_adapter|patch_merger|pre_mm_projector_norm)\.")
# Published counts of Gemma 3n and 4 leave out one norm and a scale of each layer, and so does this one.
LEFT_OUT = re.compile(r"per_layer_projection_norm\.weight$|\.layer_scalar$")
# Published files of these hold key and value projections of layers that share an earlier layer's; the golden doesn't.
WITHOUT_SHARED_PROJECTIONS = {"gemma3n_text", "gemma4_ple"}


def size(path, *arguments):
    run = subprocess.run([CAIRN, "size", str(path), "--json", *map(str, arguments)], capture_output=True, text=True,
                         check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def dimension(rule, tokens):
    if match := re.fullmatch(r"min\(n, (\d+)\)", rule):
        return min(tokens, int(match[1]))
    if match := re.fullmatch(r"n mod (\d+)", rule):
        return tokens % int(match[1])
    if match := re.fullmatch(r"floor\(n / (\d+)\)", rule):
        return tokens // int(match[1])
    return tokens if rule == "n" else int(rule)


def elements(tensor, tokens):
    return math.prod(dimension(rule, tokens) for rule in tensor["shape_rule"])


def bytes_of_f32(tensor, tokens):
    return elements(tensor, tokens) * (tensor["bytes_f32_model"] // math.prod(tensor["shape"]))


def not_needed(name, layer, tensor, tokens):
    """Bytes of a tensor, in a float32 model, that the reference keeps without need."""
    if name in KEEPS_A_COLUMN_MORE and tensor["name"] == "conv_states.0":
        return bytes_of_f32(tensor, tokens) // tensor["shape"][-1]
    if layer["cache_class"] == "DynamicSlidingWindowLayer":
        if name in KEEPS_FINISHED_CHUNKS:
            kept = dimension(tensor["shape_rule"][2], tokens)
            chunk = int(re.fullmatch(r"min\(n, (\d+)\)", tensor["shape_rule"][2])[1]) + 1
            return bytes_of_f32(tensor, tokens) // kept * (kept - tokens % chunk)
        if name in KEEPS_VALUES_THAT_ARE_KEYS and tensor["name"] == "values":
            return bytes_of_f32(tensor, tokens)
    return 0


def shared_projections(config, state):
    """Elements of the projections that a published file has for layers which keep nothing."""
    total = 0
    for layer in state["layers"]:
        if layer["tensors"]:
            continue
        own = config.get("per_layer_config", {}).get(str(layer["layer"]), {})
        width = own.get("head_dim", config["head_dim"])
        heads = own.get("num_key_value_heads", config["num_key_value_heads"])
        total += 2 * heads * width * config["hidden_size"] + width
    return total


class GoldenStatesTest(unittest.TestCase):
    def test_all_goldens_are_here(self):
        self.assertEqual(len(REFERENCES), 48)
        self.assertEqual(len(FOLDERS), 48 + len(FROM_PAPERS))

    def test_float32_state_at_every_length(self):
        for path in FOLDERS:
            name = path.parent.name
            with self.subTest(golden=name):
                state = json.loads(path.read_text())
                lengths = range(1, len(state["layers"][0]["bytes_by_tokens_f32_model"]) + 1)
                answer = size(path.parent / "config.json", "--kv-dtype", "f32", "-c", ",".join(map(str, lengths)))
                self.assertEqual([each["tokens"] for each in answer["sizes"]], list(lengths))
                for each in answer["sizes"]:
                    tokens = each["tokens"]
                    kept = sum(layer["bytes_by_tokens_f32_model"][tokens - 1] for layer in state["layers"])
                    kept -= sum(not_needed(name, layer, tensor, tokens) for layer in state["layers"]
                                for tensor in layer["tensors"] if "shape_rule" in tensor)
                    self.assertEqual(each["content_bytes"], kept, f"after {tokens} tokens")
                    self.assertGreaterEqual(each["allocated_bytes"], kept)

    def test_bfloat16_state_after_the_prompt(self):
        for path in REFERENCES:
            name = path.parent.name
            with self.subTest(golden=name):
                state = json.loads(path.read_text())
                tokens = state["prompt_tokens"]
                answer = size(path.parent / "config.json", "--kv-dtype", "bf16", "-c", tokens)
                kept = state["total_bytes_after_prompt_bf16_model"]
                for layer in state["layers"]:
                    for tensor in layer["tensors"]:
                        if "shape_rule" not in tensor:
                            continue
                        half = tensor["dtype_bf16_model"] == "bfloat16"
                        kept -= not_needed(name, layer, tensor, tokens) // (2 if half else 1)
                        if name in KEEPS_SUMS_IN_16_BITS and tensor["name"] == "kv_outer_product":
                            kept += tensor["bytes_bf16_model"]
                        if name in KEEPS_GATES_WITH_BIAS and tensor["name"].startswith("overlap_gate"):
                            kept -= tensor["bytes_bf16_model"] // 2
                self.assertEqual(answer["sizes"][0]["content_bytes"], kept)

    def test_parameters_are_the_tensors_of_the_file(self):
        for path in REFERENCES:
            name = path.parent.name
            with self.subTest(golden=name):
                tensors = json.loads((path.parent / "meta.json").read_text())["tensors"]
                shapes = {tensor: entry["shape"] for tensor, entry in tensors.items()}
                total = sum(math.prod(shape) for tensor, shape in shapes.items()
                            if not any(pattern.search(tensor) for pattern in (COMPUTED_TABLES, OTHER_TOWERS, LEFT_OUT)))
                if name in WITHOUT_SHARED_PROJECTIONS:
                    config = json.loads((path.parent / "config.json").read_text())
                    total += shared_projections(config, json.loads(path.read_text()))
                self.assertEqual(size(path.parent / "config.json")["parameters"], total)


if __name__ == "__main__":
    unittest.main()
