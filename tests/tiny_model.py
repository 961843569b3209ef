"""A model of random weights with a byte vocabulary and a chat template, as a GGUF file: for tests of the server.

Large enough that reading its state from a disk is quicker than computing it; its answers mean nothing.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "build" / "python"))  # scripts/python_packages.py
import gguf  # noqa: E402
import numpy  # noqa: E402

TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
HIDDEN, NETWORK, HEADS, HEAD, LAYERS, CONTEXT = 192, 1024, 6, 32, 3, 1024


def byte_tokens():
    """GPT-2's characters for the bytes 0 to 255."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in plain else next(others)) for byte in range(256)]


def write(path):
    tokens = [*byte_tokens(), "Ġt", "he", "<|im_start|>", "<|im_end|>"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(NETWORK)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(1)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_rope_dimension_count(HEAD)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([1] * (len(tokens) - 2) + [3, 3])
    writer.add_token_merges(["Ġ t", "h e"])
    writer.add_eos_token_id(len(tokens) - 1)
    writer.add_chat_template(TEMPLATE)
    random = numpy.random.default_rng(11)

    def matrix(name, rows, columns, size=1.0):
        values = random.normal(0, size / columns**0.5, (rows, columns)).astype(numpy.float32)
        writer.add_tensor(name + ".weight", values)

    def norm(name):
        writer.add_tensor(name + ".weight", random.uniform(0.5, 1.5, HIDDEN).astype(numpy.float32))

    matrix("token_embd", len(tokens), HIDDEN, HIDDEN**0.5)
    matrix("output", len(tokens), HIDDEN, 2.0)
    norm("output_norm")
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        norm(block + "attn_norm")
        norm(block + "ffn_norm")
        matrix(block + "attn_q", HEADS * HEAD, HIDDEN, 2.0)
        matrix(block + "attn_k", HEAD, HIDDEN, 2.0)
        matrix(block + "attn_v", HEAD, HIDDEN)
        matrix(block + "attn_output", HIDDEN, HEADS * HEAD)
        matrix(block + "ffn_gate", NETWORK, HIDDEN)
        matrix(block + "ffn_up", NETWORK, HIDDEN)
        matrix(block + "ffn_down", HIDDEN, NETWORK)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
