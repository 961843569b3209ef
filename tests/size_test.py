#!/usr/bin/env python3
"""cairn size, as people and programs call it: the same numbers from every description of a model, and one line
for what can't be sized."""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

# Debian's package serves Debian's Python; another one first in PATH finds it there, too.
sys.path.append("/usr/lib/python3/dist-packages")
import jsonschema  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAIRN = os.environ.get("CAIRN", str(ROOT / "build" / "cairn"))
GOLDEN = ROOT / "tests" / "golden"


def size(*arguments):
    return subprocess.run([CAIRN, "size", *map(str, arguments)], capture_output=True, text=True, check=False)


def size_json(*arguments):
    run = size(*arguments, "--json")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


class SizeTest(unittest.TestCase):
    def test_blocks_hold_at_least_the_content_at_every_length_of_every_golden(self):
        lengths = [1, 2, 7, 8, 11, 12, 80, 112]  # golden_states_test.py holds the content itself to the references
        for folder in sorted(GOLDEN.glob("*/config.json")):
            with self.subTest(golden=folder.parent.name):
                answer = size_json(folder.parent, "--kv-dtype", "f32", "-c", ",".join(map(str, lengths)))
                self.assertEqual([s["tokens"] for s in answer["sizes"]], lengths)
                for each in answer["sizes"]:
                    self.assertGreaterEqual(each["allocated_bytes"], each["content_bytes"])

    def test_a_folder_counts_the_tensors_of_its_file(self):
        folder = GOLDEN / "gemma2"
        tensors = json.loads((folder / "meta.json").read_text())["tensors"]
        elements = 0
        for tensor in tensors.values():
            count = 1
            for dimension in tensor["shape"]:
                count *= dimension
            elements += count
        answer = size_json(folder)
        self.assertEqual(answer["parameters"], elements)
        self.assertEqual(answer["weights_bytes"], 4 * elements)
        bare = size_json(folder / "config.json")
        self.assertEqual(bare["parameters"], elements)
        self.assertIsNone(bare["weights_bytes"])
        self.assertEqual(bare["layers"], answer["layers"])

    def test_a_batch_and_two_formats(self):
        one = size_json(GOLDEN / "llama_mha", "-c", 100, "-ctk", "f32", "-ctv", "bf16")
        three = size_json("-c", 100, "--batch", 3, "-ctk", "f32", "-ctv", "bf16", GOLDEN / "llama_mha")
        self.assertEqual(one["kv_dtype"], {"keys": "f32", "values": "bf16"})
        self.assertEqual(one["bytes_per_token"], 4 * 4 * 16 * (4 + 2))
        for name in ("content_bytes", "allocated_bytes", "content_elements"):
            self.assertEqual(three["sizes"][0][name], 3 * one["sizes"][0][name])
            self.assertEqual(three["sizes"][0]["per_request"][name], one["sizes"][0][name])

    def test_the_default_context_is_the_models_own(self):
        answer = size_json(GOLDEN / "llama_mha")
        self.assertEqual([s["tokens"] for s in answer["sizes"]], [answer["context_length"]])

    def test_a_folder_whose_weights_are_not_there_is_sized_from_its_config(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "config.json").write_text((GOLDEN / "gemma3_text" / "config.json").read_text())
            self.assertIsNone(size_json(folder)["weights_bytes"])

    def test_the_page_ends_with_the_total(self):
        run = size(GOLDEN / "gemma3_text", "-c", "5,4096", "--batch", 2)
        self.assertEqual(run.returncode, 0)
        self.assertEqual(run.stderr, "")
        self.assertEqual(run.stdout.splitlines()[-1],
                         "  total           0.0010 GiB (0.0011 GB) for 4096 tokens, batch=2")
        self.assertIn("1,060,864", run.stdout)
        self.assertNotIn("\x1b", run.stdout)

    def test_the_calculators_spellings_ask_the_same(self):
        ours = size_json(GOLDEN / "llama_gqa", "-c", 100, "--batch", 3, "--kv-dtype", "bf16")
        theirs = size_json(GOLDEN / "llama_gqa", "--context-length", 100, "--batch-size", 3, "--dtype-bytes", 2)
        self.assertEqual(ours, theirs)
        eight_bits = size_json(GOLDEN / "llama_gqa", "-c", 100, "--dtype-bytes", 1)
        self.assertEqual(6 * eight_bits["total_bytes"], ours["total_bytes"])
        self.assert_refused([GOLDEN / "llama_gqa", "--dtype-bytes", 3], "--dtype-bytes 3", "1, 2 or 4")

    def test_requests_of_a_file_share_a_prefix(self):
        with tempfile.TemporaryDirectory() as name:
            mix = pathlib.Path(name) / "mix.txt"
            mix.write_text("# two lengths\n2 x 64\n128\n")
            answer = size_json(GOLDEN / "llama_gqa", "--requests", mix, "--shared-prefix", 32)
            row = answer["bytes_per_token"]
            self.assertEqual(answer["sizes"][0]["batch"], 3)
            self.assertEqual(answer["kv_bytes"], row * (32 + 2 * 32 + 96))
            self.assertIn("for up to 128 tokens, batch=3", size(GOLDEN / "llama_gqa", "--requests", mix).stdout)
            self.assert_refused([GOLDEN / "llama_gqa", "--requests", mix, "--batch", 2], "--requests")
            mix.write_text("2 x\n")
            self.assert_refused([GOLDEN / "llama_gqa", "--requests", mix], "mix.txt line 1")

    def test_cards_of_all_stages_keep_what_the_model_keeps(self):
        whole = size_json(GOLDEN / "llama_gqa", "-c", 100)
        divided = size_json(GOLDEN / "llama_gqa", "-c", 100, "--tp", 2, "--pp", 2)
        self.assertEqual(divided["total_bytes"], whole["total_bytes"])
        self.assertEqual(divided["parallel"]["cards"], 4)
        stages = divided["parallel"]["stages"]
        self.assertEqual(2 * sum(s["sizes"][0]["total_bytes"] for s in stages), whole["total_bytes"])
        self.assert_refused([GOLDEN / "llama_gqa", "--pp", 99], "--pp 99")

    def test_other_formats_hold_the_same_numbers(self):
        arguments = [GOLDEN / "gemma3_text", "-c", 4096]
        total = size_json(*arguments)["total_bytes"]
        self.assertIn(f",{total}\n", size(*arguments, "--csv").stdout)
        self.assertIn(f"| {total:,} |", size(*arguments, "--markdown").stdout)
        self.assert_refused([*arguments, "--csv", "--json"], "expected one of them")

    def test_every_report_fits_the_schema(self):
        schema = json.loads((ROOT / "docs" / "size_schema.json").read_text())
        validator = jsonschema.Draft7Validator(schema)
        folders = list(GOLDEN.glob("*/config.json"))
        configs = ROOT.parent / "shared" / "data" / "configs"
        paths = [path.parent for path in folders] + sorted(configs.glob("*.json"))[::6]
        self.assertGreaterEqual(len(folders), 48)
        questions = [["-c", "100,5000", "--full"],
                     ["--gpu", "H100x2", "--profile", "vllm@0.27.1", "--set", "available_kv_gib=10"]]
        for question in questions:
            run = size(*paths, *question, "--json")
            lines = run.stdout.splitlines()
            self.assertEqual(len(lines), len(paths))
            sized = [answer for answer in map(json.loads, lines) if "error" not in answer]
            self.assertGreaterEqual(len(sized), 48 if question == questions[0] else 40)
            for answer in sized:
                problems = [f"{list(e.absolute_path)}: {e.message}" for e in validator.iter_errors(answer)]
                self.assertEqual(problems, [], answer["model"])
        broken = size_json(GOLDEN / "llama_mha")
        del broken["sizes"][0]["kv_bytes"]
        self.assertFalse(validator.is_valid(broken))

    def test_a_name_a_shape_and_a_config_of_one_model_are_sized_alike(self):
        named = size_json("llama-2-7b", "-c", 4096)
        shaped = size_json("layers=32,kv_heads=32,head_dim=128", "-c", 4096)
        self.assertEqual(named["model"], "meta-llama/Llama-2-7b-hf")
        self.assertEqual(named["total_bytes"], 2 << 30)
        self.assertEqual(shaped["total_bytes"], named["total_bytes"])
        self.assert_refused(["lama-2-7b"], "Llama-2-7b-hf")
        self.assert_refused(["layers=32,kv_haeds=8"], "kv_haeds")
        self.assertIn("meta-llama/Llama-2-7b-hf", size("--list").stdout)
        self.assert_refused([], "expected a model")

    def test_models_side_by_side_are_a_row_each(self):
        table = json.loads(size("compare", "Qwen3-8B", "DeepSeek-V3", "-c", 1000, "--json").stdout)["compare"]
        self.assertEqual([row["bytes_per_token"] for row in table["models"]], [147456, 61 * 576 * 2])
        self.assert_refused(["compare", "Qwen3-8B", "no-such-model-1"], "no-such-model-1")

    def test_a_card_named_gives_a_budget_that_adds_up(self):
        answer = size_json("Qwen3-8B", "-c", 32768, "--batch", 8, "--gpu", "H100x2")
        budget = answer["budget"]
        self.assertEqual(answer["parallel"]["tp"], 2)
        self.assertEqual(budget["state_bytes"], answer["parallel"]["stages"][0]["sizes"][0]["total_bytes"])
        used = budget["weights_bytes"] + budget["activations_bytes"] + budget["overhead_bytes"]
        self.assertEqual(budget["left_bytes"], budget["usable_bytes"] - used)
        self.assertEqual(budget["headroom_bytes"], budget["left_bytes"] - budget["state_bytes"])
        self.assertTrue(budget["fits"])
        most = budget["max_batch"]
        again = size_json("Qwen3-8B", "-c", 32768, "--batch", most, "--gpu", "H100x2")["budget"]
        beyond = size_json("Qwen3-8B", "-c", 32768, "--batch", most + 1, "--gpu", "H100x2")["budget"]
        self.assertTrue(again["fits"])
        self.assertFalse(beyond["fits"])
        self.assert_refused(["Qwen3-8B", "--gpu", "H1000"], "H1000", "nearest")
        self.assert_refused(["Qwen3-8B", "--gpu", "H100x4", "--tp", 2], "names 4 cards")
        self.assert_refused(["Qwen3-8B", "--memory-fraction", 1.5, "--gpu", "H100"], "1.5")

    def test_a_profile_takes_the_cards_and_forms_from_the_other_flags(self):
        answer = size_json("Qwen3-8B", "-c", 32768, "--tp", 2, "--kv-dtype", "fp8", "--profile", "vllm@0.20.0",
                           "--set", "available_kv_gib=10")
        self.assertEqual(answer["profile"]["bytes_per_block"], 16 * 36 * 4 * 2 * 128)
        self.assert_refused(["Qwen3-8B", "--set", "tp=2"], "--profile")
        self.assert_refused(["Qwen3-8B", "--profile", "wllm@1"], "wllm")
        self.assert_refused(["Qwen3-8B", "--profile", "vllm@0.20.0", "--set", "no_such=1"], "no_such")

    def test_what_is_not_known_is_warned_of(self):
        shape = size_json("layers=4,kv_heads=2,head_dim=16", "-c", 64)
        self.assertTrue(any("hidden" in each for each in shape["activations"]["warnings"]))
        for version, warned in (("0.33.0", False), ("0.11.0", False), ("9.9.9", True), ("0.0.1", True)):
            profile = size_json("Qwen3-8B", "--profile", f"vllm@{version}")["profile"]
            self.assertEqual(any("source was read" in each for each in profile.get("warnings", [])), warned)
        recurrent = ROOT / "tests" / "golden" / "mamba" / "config.json"
        endless = size_json(recurrent, "-c", 64, "--gpu", "H100")["budget"]
        self.assertTrue(any("doesn't bound the context" in each for each in endless["warnings"]))

    def test_draft_layers_count_when_asked(self):
        plain = size_json("DeepSeek-V3", "-c", 1000, "--kv-dtype", "bf16")
        drafting = size_json("DeepSeek-V3", "-c", 1000, "--kv-dtype", "bf16", "--draft")
        self.assertEqual(drafting["total_bytes"] * 61, plain["total_bytes"] * 62)

    def test_the_first_megabytes_of_a_gguf_file_are_enough(self):
        whole = ROOT / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
        if not whole.exists():
            self.skipTest("no models; make models brings them")
        with tempfile.TemporaryDirectory() as name:
            part = pathlib.Path(name) / "part.gguf"
            with whole.open("rb") as file:
                part.write_bytes(file.read(8 << 20))
            complete, cut = size_json(whole), size_json(part)
        for key in ("layers", "sizes", "parameters", "bytes_per_token"):
            self.assertEqual(cut[key], complete[key], key)

    def test_all_configs_are_sized_in_two_seconds_and_one_at_once(self):
        configs = ROOT.parent / "shared" / "data" / "configs"
        paths = sorted(configs.glob("*.json")) or sorted(GOLDEN.glob("*/config.json"))
        # Processor seconds, of the best of three: others use this machine, too.
        self.assertLess(min(self.seconds(*paths, "--json") for _ in range(3)), 2)
        self.assertLess(min(self.seconds(paths[0]) for _ in range(5)), 0.05)

    @staticmethod
    def seconds(*arguments):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        size(*arguments)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def test_explain_prints_formulas_with_numbers_filled_in(self):
        run = size(GOLDEN / "gemma3_text", "-c", 4096, "--explain")
        text = " ".join(run.stdout.split())
        self.assertIn("1 layer x (2 x 16 keys x 2 bytes + 2 x 16 values x 2 bytes) x T tokens", text)
        self.assertIn("sliding 6,144 + full 524,288 = 530,432 bytes", text)

    def test_several_models_are_a_line_each_and_one_that_fails_stops_no_other(self):
        paths = [GOLDEN / "llama_mha", GOLDEN / "meta.json", GOLDEN / "gemma2"]
        run = size(*paths, "-c", 64, "--json")
        self.assertEqual(run.returncode, 2)
        answers = [json.loads(line) for line in run.stdout.splitlines()]
        self.assertEqual([answer["model"] for answer in answers], [str(path) for path in paths])
        self.assertIn("meta.json", answers[1]["error"])
        self.assertEqual(answers[2], size_json(paths[2], "-c", 64))

    def test_packed_formats_count_their_scales(self):
        with tempfile.TemporaryDirectory() as name:
            config = pathlib.Path(name) / "config.json"
            text = (GOLDEN / "llama_mha" / "config.json").read_text()
            config.write_text(text.replace('"head_dim": 16', '"head_dim": 64'))
            per_token = {form: size_json(config, "--kv-dtype", form)["bytes_per_token"]
                         for form in ("f32", "bf16", "fp8", "q8_0", "q4_0", "lm5", "lm3")}
            elements = per_token["f32"] // 4
            self.assertEqual(per_token["bf16"], 2 * elements)
            self.assertEqual(per_token["fp8"], elements)
            self.assertEqual(per_token["q8_0"], elements // 32 * 34)
            self.assertEqual(per_token["q4_0"], elements // 32 * 18)
            self.assertEqual(per_token["lm5"], elements // 64 * 41)  # a byte of scale for each head's row
            self.assertEqual(per_token["lm3"], elements // 64 * 25)
        self.assert_refused([GOLDEN / "llama_mha", "--kv-dtype", "q8_0"], "width 16", "multiple of 32")

    def test_known_models_are_sized_as_expected(self):
        expected = ROOT / "tests" / "data" / "sizing_expected.json"
        configs = ROOT.parent / "shared" / "data" / "configs"
        if not configs.is_dir():
            self.skipTest("no folder of real configs")
        run = subprocess.run([ROOT / "tests" / "check_sizes", expected, configs], capture_output=True, text=True,
                             check=False, env={**os.environ, "CAIRN": CAIRN})
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def assert_refused(self, arguments, *words):
        run = size(*arguments)
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertEqual(run.stdout, "")
        self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        self.assertTrue(run.stderr.startswith("cairn: "), run.stderr)
        for word in words:
            self.assertIn(word, run.stderr)

    def test_what_cannot_be_sized_is_one_line_and_exit_code_2(self):
        model = GOLDEN / "llama_mha"
        self.assert_refused(["no/such/model"], "no/such/model")
        self.assert_refused([GOLDEN], "config.json")
        self.assert_refused([model / "meta.json"], "meta.json", "num_hidden_layers")
        self.assert_refused([model, "--batch", "0"], "batch 0", "1 to 1000000")
        self.assert_refused([model, "-c", "-1"], "context -1")
        self.assert_refused([model, "-c", "x"], "x")
        self.assert_refused([model, "-ctk", "f17"], "-ctk", "f17")
        self.assert_refused([model, "--kv-dtype", "q4_k"], "--kv-dtype", "q4_k")
        with tempfile.TemporaryDirectory() as name:
            config = pathlib.Path(name) / "config.json"
            text = (model / "config.json").read_text()
            config.write_text(text.replace('"num_hidden_layers": 4', '"num_hidden_layers": 600'))
            self.assert_refused([config], str(config), "num_hidden_layers is 600", "1 to 512")
            config.write_text(text[: len(text) // 2])
            self.assert_refused([config], str(config), "not JSON")
            config.write_text(text.replace('"model_type": "llama"', '"model_type": "lama"'))
            self.assert_refused([config], "model_type", "lama", "not supported")
            config.write_text(text.replace('"model_type": "llama"', '"model_type": "bert"'))
            self.assert_refused([config], "bert", "encoder")

    def test_a_flags_value_that_is_none_is_named_with_what_would_be_right(self):
        for flag in ("-c", "--batch", "--tp", "--memory", "--gpu", "--kv-dtype", "--html", "--profile"):
            self.assert_refused(["Qwen3-8B", flag, ""], "empty, expected a value")
        for flag in ("-c", "--batch", "--tp", "--chunk"):
            self.assert_refused(["Qwen3-8B", flag, "1e3"], "1e3", "expected an integer")
            self.assert_refused(["Qwen3-8B", flag, str(1 << 70)], "expected an integer up to")
        for flag in ("--memory", "--bandwidth", "--tflops"):
            self.assert_refused(["Qwen3-8B", flag, "much"], "much", "expected a number")
            self.assert_refused(["Qwen3-8B", flag, "0"], "expected more than 0")
        self.assert_refused(["Qwen3-8B", "--prompt", 10, "--cached", 11], "11 tokens cached", "at most the prompt's 10")
        self.assert_refused(["Qwen3-8B", "--dtype-bytes", 2, "--kv-dtype", "fp8"], "expected one")

    def test_a_report_that_cannot_be_written_is_a_failure(self):
        for arguments in (["Qwen3-8B", "-c", "10"], ["Qwen3-8B", "--full"]):
            with open("/dev/full", "w") as full:
                run = subprocess.run([CAIRN, "size", *arguments], stdout=full, stderr=subprocess.PIPE, text=True,
                                     check=False)
            self.assertEqual(run.returncode, 1)
            self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
            self.assertIn("standard output: cannot write", run.stderr)


if __name__ == "__main__":
    unittest.main()
