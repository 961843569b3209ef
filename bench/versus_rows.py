"""The targets of speed as data: every row that bench/versus measures, and what it is held to.

A row compares two contestants at one test: Cairn with llama.cpp, or Cairn with itself in another way.
A ratio is ours / theirs. Speeds (tokens per second) must reach the target, times and bytes mustn't exceed it.
"""

import dataclasses

CAIRN, LLAMACPP, OPENVINO = "cairn", "llama.cpp", "openvino"
FIRST_TOKEN_PROMPT = "Why is the sky blue?"
MEMORY_CONTEXT = 4096
ANSWER = 64


@dataclasses.dataclass(frozen=True)
class Model:
    file: str
    depths: tuple  # of the rows at depth


MODELS = {
    "gemma3": Model("gemma-3-270m-q4_k_m.gguf", (4096, 16384)),
    "smollm2": Model("SmolLM2-135M-Instruct.Q4_1.gguf", (4096, 7500)),
}
BATCH, BATCH_DEPTH = 8, 1024
OPENVINO_MODELS = ("smollm2",)


@dataclasses.dataclass(frozen=True)
class Contestant:
    """Who runs, with how many threads, with keys and values stored as what, beside how many processes
    that burn a core."""

    engine: str
    threads: int
    state: str = "f16"
    burners: int = 0

    def __str__(self):
        return f"{self.engine} {self.state} t{self.threads}" + (" stolen core" if self.burners else "")


@dataclasses.dataclass(frozen=True)
class Test:
    """`kind`: "speed" (a prompt, an answer), "first" (seconds from a process's start to its first token)
    or "memory" (most bytes that a process held)."""

    kind: str
    prompt: int = 0
    answer: int = 0
    depth: int = 0
    sequences: int = 1

    @property
    def name(self):
        if self.kind != "speed":
            return {"first": "first token", "memory": f"memory c{MEMORY_CONTEXT}"}[self.kind]
        name = f"pp{self.prompt}" if self.prompt else f"tg{self.answer}"
        return name + (f" x{self.sequences}" if self.sequences > 1 else "") + (f" d{self.depth}" if self.depth else "")

    @property
    def higher_is_better(self):
        return self.kind == "speed"

    @property
    def unit(self):
        return {"speed": "tokens/s", "first": "s", "memory": "MiB"}[self.kind]

    @property
    def request(self):
        """The line that asks a worker for it; `threads` is llama.cpp's worker's word only."""
        words = [f"{name} {getattr(self, name)}" for name in ("prompt", "answer", "depth") if getattr(self, name)]
        return " ".join(words + ([f"sequences {self.sequences}"] if self.sequences > 1 else []))

    def value_of(self, ns):
        """Tokens per second."""
        return 1e9 * self.sequences * (self.prompt + self.answer) / ns


@dataclasses.dataclass(frozen=True)
class Row:
    model: str
    test: Test
    ours: Contestant
    peer: Contestant
    target: float

    @property
    def name(self):
        burning = " stolen core" if self.ours.burners else ""
        against = self.peer.engine
        if self.peer.engine == CAIRN:
            against = "idle t1" if burning else f"own {self.peer.state}"
        return f"{self.model} {self.test.name} {self.ours.state} t{self.ours.threads}{burning} vs {against}"


def speed(kind, depth=0, sequences=1, prompt=512):
    return Test("speed", prompt if kind == "pp" else 0, ANSWER if kind == "tg" else 0, depth, sequences)


# Kind of test, Cairn's state, whom it is compared with, their state, least ratio per model.
AT_DEPTH = (
    ("pp", "f16", LLAMACPP, "f16", {"gemma3": 1.8, "smollm2": 2.5}),
    ("pp", "bf16", LLAMACPP, "f16", {"gemma3": 2.4, "smollm2": 4.0}),
    ("pp", "q8_0", LLAMACPP, "q8_0", {"gemma3": 4.0, "smollm2": 6.0}),
    ("pp", "q4_0", LLAMACPP, "q4_0", {"gemma3": 7.0, "smollm2": 10.0}),
    ("tg", "f16", LLAMACPP, "f16", {"gemma3": 1.35, "smollm2": 2.2}),
    ("tg", "q8_0", LLAMACPP, "q8_0", {"gemma3": 1.4, "smollm2": 3.0}),
    ("tg", "q8_0", CAIRN, "f16", {"gemma3": 1.0, "smollm2": 1.0}),
    ("tg", "q4_0", LLAMACPP, "q4_0", {"gemma3": 1.8, "smollm2": 5.0}),
    ("tg", "q4_0", CAIRN, "q8_0", {"gemma3": 1.0, "smollm2": 1.0}),
)
EMPTY = (
    ("pp", {"gemma3": 3.0, "smollm2": 5.0}),
    ("tg", {"gemma3": 1.25, "smollm2": 1.8}),
)
TOGETHER_TARGET = 2.0
NOT_MORE = 1.0
STOLEN_CORE_TARGET = 0.9
MEMORY_TEST = Test("memory", MEMORY_CONTEXT - ANSWER, ANSWER)


def rows_of(model, threads, quick=False):
    """All rows of one model on one number of threads, those of equal tests together."""
    ours = lambda state="f16": Contestant(CAIRN, threads, state)  # noqa: E731
    peer = lambda state="f16": Contestant(LLAMACPP, threads, state)  # noqa: E731
    for kind, targets in EMPTY:
        yield Row(model, speed(kind), ours(), peer(), targets[model])
    for depth in (512,) if quick else MODELS[model].depths:
        for kind, state, engine, their_state, targets in AT_DEPTH:
            theirs = Contestant(engine, threads, their_state)
            yield Row(model, speed(kind, depth), ours(state), theirs, targets[model])
    for depth in (0, 128 if quick else BATCH_DEPTH):
        yield Row(model, speed("tg", depth, BATCH), ours(), peer(), TOGETHER_TARGET)
    yield Row(model, Test("first"), ours(), peer(), NOT_MORE)
    yield Row(model, MEMORY_TEST, ours(), peer(), NOT_MORE)
    if threads == 2:
        for kind, _ in EMPTY:
            stolen = Contestant(CAIRN, threads, burners=1)
            yield Row(model, speed(kind), stolen, Contestant(CAIRN, 1), STOLEN_CORE_TARGET)


def all_rows(threads=(1, 2), quick=False):
    return [row for model in MODELS for count in threads for row in rows_of(model, count, quick)]
