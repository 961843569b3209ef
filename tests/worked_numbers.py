"""How an entry of a worked-numbers file is put to cairn size.

Each rule (worked_numbers_rules.py) recognises a kind of quantity by the entry's formula, inputs and unit and gives its
Answer. What an entry leaves out (a model, a length, heads) comes from its text, then from earlier entries of its section, then from the
section's row in SECTIONS. Sources: "program" is a number of cairn size --json or a ratio, sum or difference of such;
"mixed" combines one with a number that the text takes as given (weights of 16.4 GB); "arithmetic" is
about no model at all: the formula itself is evaluated.
"""

import ast
import json
import operator
import os
import pathlib
import re
import subprocess
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAIRN = os.environ.get("CAIRN", str(ROOT / "build" / "cairn"))

# What a section is about, where neither its heading nor its entries say.
SECTIONS = {
    "8 interactive comparison": {"kv_heads": 32, "latent": 576},
    "20 DeepSeek V4": {"model": "DeepSeek-V4-Pro"},
    "L2.1 formula": {"model": "Qwen3-8B"},
    "L2.2 table": {"model": "Qwen3-8B"},
    "L2.4 head sharing": {"model": "Qwen3-8B"},
    "L4.2 FP8 cache": {"model": "Qwen3-8B"},
    "L5.1 VRAM formula": {"model": "Qwen3-8B"},
    "Appendix C activations": {"model": "Qwen3-8B"},
    "calculator of the reproducing section": {"model": "Qwen3-8B"},
}

BYTES = {"bytes": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
DTYPES = {1: "fp8", 2: "bf16", 4: "f32"}
DTYPE_WORDS = {"FP8": "fp8", "BF16": "bf16", "FP16": "bf16", "FP32": "f32", "Q8": "q8_0", "Q4": "q4_0"}
BITS = {4.5: "q4_0", 5.0: "q4_1", 5.5: "q5_0", 6.0: "q5_1", 8.0: "fp8", 8.5: "q8_0", 16.0: "bf16", 32.0: "f32"}
# Key of a shape: the inputs that mean it.
SHAPE_INPUTS = {
    "layers": ("L", "layers"),
    "kv_heads": ("H_kv", "kv_heads", "num_kv_heads", "H"),
    "head_dim": ("D", "head_dim", "dim"),
    "window": ("W",),
    "latent": ("latent", "elements", "width", "rank"),
    "rope": ("rope",),
    "index": ("index",),
}
HEAD_COUNTS = {"mha", "mqa", "gqa", "mla", "query_heads", "kv_heads", "groups", "q", "kv", "H_q", "g"}


class Answer(NamedTuple):
    value: object  # in the entry's unit: a number, a list or a dict of numbers
    source: str  # "program", "mixed" or "arithmetic"
    how: str  # the question put to the program, or the formula
    raw: float | None = None  # bytes, where it is an amount of them


class Refused(LookupError):
    """The program's error."""


class Program:
    """cairn size --json, each question asked once."""

    def __init__(self):
        self.answers = {}
        self.names = {}

    def size(self, model, tokens=1, batch=1, dtype="bf16", extra=()):
        command = (CAIRN, "size", model, "-c", str(tokens), "--batch", str(batch), "--kv-dtype", dtype, *extra, "--json")
        if command not in self.answers:
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            if run.returncode != 0:
                raise Refused(run.stderr.strip())
            self.answers[command] = json.loads(run.stdout)
        return self.answers[command]

    def learn_names(self, candidates):
        """Which of the candidates are models of the catalogue."""
        unknown = sorted(set(candidates) - set(self.names))
        unknown = [name for name in unknown if not pathlib.Path(name).exists()] + ["no model", "none"]
        run = subprocess.run([CAIRN, "size", *unknown, "--json"], capture_output=True, text=True, check=False)
        for name, line in zip(unknown, run.stdout.splitlines(), strict=True):
            self.names[name] = "error" not in json.loads(line)

    def is_model(self, name):
        return self.names.get(name, False)


def name_candidates(text):
    """Runs of up to four words that may be a model's name: they have letters and digits."""
    words = re.findall(r"[\w.+-]+", text.replace("(", " ").replace(",", " "))
    for first in range(len(words)):
        for last in range(first + 1, min(first + 4, len(words)) + 1):
            name = " ".join(words[first:last]).strip("-.+ ")
            if name[:1].isupper() and re.search(r"\d", name) and len(name) > 3:
                yield name


def question_of(model, tokens, batch, dtype, *more):
    parts = [f'"{model}"' if " " in model or "," in model else model]
    parts += [f"-c {tokens}"] if tokens != 1 else []
    parts += [f"--batch {batch}"] if batch != 1 else []
    return " ".join([*parts, "--kv-dtype " + dtype, *more])


def shape_text(shape):
    order = ("layers", "heads", "kv_heads", "head_dim", "window", "latent", "rope", "index", "share")
    return ",".join(f"{key}={shape[key]}" for key in order if shape.get(key))


def evaluate(formula, names):
    """Numbers, names, + - * / ^ and parentheses; ValueError for anything else."""
    operators = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
                 ast.Pow: operator.pow}  # fmt: skip

    def value(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.Name) and isinstance(names.get(node.id), (int, float)):
            return names[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in operators:
            return operators[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        raise ValueError(formula)

    text = re.sub(r"(?<=\d),(?=\d{3})", "", formula).replace("^", "**")
    text = re.sub(r"(?<=\d) ?(KiB|MiB|GiB|KB|MB|GB)\b", r"", text)
    try:
        return value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ZeroDivisionError, OverflowError) as error:
        raise ValueError(formula) from error


def lengths_in(text):
    """Tokens that a text names: "at 32K", "128 Ki tokens", "1,048,576 tokens"."""
    number = r"(\d[\d,]*)\s?(Ki|K)?"
    for match in re.finditer(rf"{number}\s+tokens|(?:\bat|\bof|,)\s+{number}(?=[\s,)]|$)", text):
        digits, scale = match.group(1) or match.group(3), match.group(2) or match.group(4)
        if scale or match.group(1) or int(digits.replace(",", "")) >= 512:
            yield int(digits.replace(",", "")) * (1024 if scale else 1)


class Place:
    """What a section has said so far."""

    def __init__(self, heading):
        self.heading = heading
        self.shape = {key: value for key, value in SECTIONS.get(heading, {}).items() if key != "model"}
        self.model = SECTIONS.get(heading, {}).get("model")
        self.dtype = "bf16"
        self.tokens = None
        self.inputs = {}
        self.specs = []  # shapes and models that were asked about
        self.answers = []  # (value, unit, Answer)
        self.lengths = {}  # "prefix", "suffix": tokens


class Book:
    """The entries of a file in their order, answered one by one."""

    def __init__(self, entries, program, rules):
        self.program, self.rules = program, rules
        self.seen = {}  # models named so far, by seed
        self.places = {}
        texts = {entry["section"] for entry in entries} | {entry["what"] for entry in entries}
        program.learn_names({name for text in texts for name in name_candidates(text)})

    def place(self, entry):
        heading = entry["section"]
        if heading not in self.places:
            self.places[heading] = Place(heading)
            self.places[heading].model = self.places[heading].model or self.named(entry, heading)
        return self.places[heading]

    def named(self, entry, text):
        """The model that a text names, in full or by the beginning of a name that its guide has used."""
        seen = self.seen.setdefault(entry.get("seed"), [])
        full = [name for name in name_candidates(text) if self.program.is_model(name)]
        if full:
            name = max(full, key=len)
            if name in seen:
                seen.remove(name)
            seen.append(name)
            return name
        for word in re.findall(r"[A-Z][\w.+-]+", text):
            for name in reversed(seen):
                if name.startswith(word) and not re.match(r"[\w.]", name[len(word) :] or " "):
                    return name
        return None

    def fact(self, entry):
        """What the program says about the model that an entry of another kind names."""
        self.place(entry)
        model = self.named(entry, entry["what"]) if entry["kind"] == "config" else None
        if not model:
            return None
        answer = self.program.size(model)
        if "parameters" in entry["section"] or "parameter" in entry["section"]:
            return f"{answer['parameters']:,} parameters" if answer["parameters"] else None
        context = answer["context_length"]
        parts = [part for group in answer["layers"] for part in group["components"] if part["kind"] == "rows"]
        heads = {"latent" if part["name"] == "latent" else str(part["heads"]) for part in parts}
        texts = ["KV heads " + " and ".join(sorted(heads)) if heads else "", f"context {context:,}" if context else ""]
        return "; ".join(text for text in texts if text) or None

    def answer(self, entry):
        place = self.place(entry)
        asked = Asked(self, entry, place)
        refused = False
        for rule in self.rules:
            try:
                answer = rule(asked)
            except Refused:
                refused = True
                continue
            except (ValueError, LookupError, ZeroDivisionError, TypeError):
                continue
            if answer is not None:
                break
        else:
            answer = None
        if refused and answer is not None and answer.source == "arithmetic":
            answer = None  # the program was to say it
        asked.remember(answer)
        return answer


class Asked:
    """An entry with what its place adds to it."""

    def __init__(self, book, entry, place):
        self.program, self.entry, self.place = book.program, entry, place
        self.inputs = entry.get("inputs") or {}
        self.formula = entry.get("formula") or ""
        self.what, self.unit = entry["what"], entry.get("unit") or ""
        self.exact = entry.get("exact")
        self.own_model = book.named(entry, self.what)
        self.model = self.own_model or place.model
        self.own_shape = self.read_shape()
        self.per_token = "per token" in self.unit or re.search(r"\btoken\b", self.what) is not None
        self.tokens = self.read_tokens()
        self.batch = self.read_batch()
        self.dtype = self.read_dtype()

    def number(self, *keys):
        for key in keys:
            if isinstance(self.inputs.get(key), (int, float)):
                return self.inputs[key]
        return None

    def read_shape(self):
        shape = {}
        for key, spellings in SHAPE_INPUTS.items():
            value = self.number(*spellings)
            if isinstance(value, int):
                shape[key] = value
        if "latent" in shape and not {"L", "layers", "rope", "T"} & set(self.inputs) and "S" not in self.inputs:
            shape.setdefault("layers", 1)
        if self.inputs.get("groups") and "layers" in shape and "kv_heads" in shape:
            shape["share"] = shape["layers"] // self.inputs["groups"]
        if shape and "layers" not in shape and "L" not in re.findall(r"\w+", self.formula):
            shape["layers"] = 1
        return shape

    def read_tokens(self):
        value = self.number("T", "S_tokens", "context_length", "tokens")
        if isinstance(value, int):
            return value
        if self.per_token:
            return None
        if "same length" in self.what:
            return self.place.tokens
        found = [*lengths_in(self.what), *lengths_in(self.place.heading)]
        return found[0] if found else None

    def read_batch(self):
        value = self.number("B", "batch", "contexts")
        words = re.search(r"batch (\d+)", self.what)
        return value if isinstance(value, int) else int(words.group(1)) if words else 1

    def read_dtype(self):
        if self.inputs.get("bits_per_element") in BITS:
            return BITS[self.inputs["bits_per_element"]]
        element = self.number("b", "S")
        if element in DTYPES:
            return DTYPES[element]
        words = [dtype for word, dtype in DTYPE_WORDS.items() if re.search(rf"\b{word}\b", self.what)]
        return words[-1] if words else "bf16"

    def shape(self):
        """The entry's own shape, completed by its section's."""
        shape = dict(self.place.shape)
        if "latent" in self.own_shape:
            shape = {key: shape[key] for key in ("layers",) if key in shape}
        elif {"kv_heads", "head_dim"} & set(self.own_shape):
            shape = {key: value for key, value in shape.items() if key in ("layers", "kv_heads", "head_dim")}
        return {**shape, **self.own_shape}

    def spec(self):
        """What to ask the program about: a shape where the entry states one, else a model."""
        shape = self.shape()
        if self.own_shape and "layers" in shape and {"kv_heads", "latent"} & set(shape):
            return shape_text(shape)
        return self.model or shape_text(self.place.shape) or None

    def size(self, spec, tokens=1, batch=1, dtype=None, extra=()):
        self.place.specs.append(spec)
        return self.program.size(spec, tokens, batch, dtype or self.dtype, extra)

    def kv_bytes(self, spec, tokens, batch=1, dtype=None, extra=()):
        return self.size(spec, tokens, batch, dtype, extra)["kv_bytes"]

    def amount(self, value, how, source="program"):
        if self.unit not in BYTES and not self.unit.startswith("bytes"):
            return None
        scale = BYTES.get(self.unit, 1)
        return Answer(value / scale if scale != 1 else value, source, how, raw=value)

    def asks_for_bytes(self):
        return self.unit in BYTES or self.unit.startswith("bytes")

    def remember(self, answer):
        place = self.place
        place.shape.update(self.own_shape)
        place.inputs.update(self.inputs)
        place.tokens = self.tokens or place.tokens
        for part in ("prefix", "suffix"):
            if part in self.what and self.tokens:
                place.lengths[part] = self.tokens
        if answer is not None:
            place.answers.append((answer.value, self.unit, answer))

    def earlier(self, value):
        """The section's earlier answer that is this number, in any unit of the text."""
        for known, _, answer in reversed(self.place.answers):
            if isinstance(known, (int, float)) and abs(known - value) < 1e-9 * max(1.0, abs(value)):
                return answer
        raise ValueError(value)

