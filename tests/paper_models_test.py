#!/usr/bin/env python3
"""The goldens of models without a reference library are what the scalar models of their papers compute."""

import json
import unittest

import paper_goldens
import paper_models
import safetensors_reader

TOKENS = 24  # of the prompt; the engine's own tests hold it to all of them


def largest_difference(ours, theirs):
    return max(abs(a - b) for a, b in zip(ours, theirs, strict=True))


class PaperModelsTest(unittest.TestCase):
    def test_every_golden_is_what_its_scalar_model_computes(self):
        for name, (config, model_class, shapes, seed, _) in paper_goldens.GOLDENS.items():
            with self.subTest(name):
                folder = paper_goldens.GOLDEN / name
                self.assertEqual(json.loads((folder / "config.json").read_text()), config)
                stored = safetensors_reader.read(folder / "model.safetensors")
                drawn = paper_goldens.draw_weights(config, shapes(config), seed)
                self.assertEqual(stored.keys(), drawn.keys())
                for tensor, (_, values) in drawn.items():
                    self.assertLess(largest_difference(stored[tensor][1], values), 1e-6, tensor)
                expected = safetensors_reader.read(folder / "expected.safetensors")
                model = model_class(config, {tensor: paper_goldens.nested(*value) for tensor, value in stored.items()})
                logits = paper_models.joined(model.step(token) for token in expected["prompt_ids"][1][:TOKENS])
                self.assertLess(largest_difference(logits, expected["logits"][1][: len(logits)]), 1e-5)

    def test_retention_in_its_parallel_form_is_its_recurrence(self):
        config, model_class, shapes, seed, _ = paper_goldens.GOLDENS["retnet"]
        weights = paper_goldens.draw_weights(config, shapes(config), seed)
        model = model_class(config, {tensor: paper_goldens.nested(*value) for tensor, value in weights.items()})
        recurrent = None
        for token in (3, 1, 4, 1, 5):
            model.step(token)
            keys, values = model.keys[0][-1][2], model.values[0][-1][2]
            if recurrent is None:
                recurrent = [[0.0] * len(values) for _ in keys]
            recurrent = [[model.decay(2) * s + k * v for s, v in zip(row, values)] for row, k in zip(recurrent, keys)]
            shape, state = model.state()["state.0.kv_outer_product"]
            size = shape[2] * shape[3]
            self.assertLess(largest_difference(paper_models.joined(recurrent), state[2 * size : 3 * size]), 1e-12)


if __name__ == "__main__":
    unittest.main()
