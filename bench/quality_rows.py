"""What bench/quality measures and holds to targets, as data; and the rows that a measurement gives.

A setting with a grade gets that grade's targets on each model; one without is only shown. To have a new form of the
state measured, add a line to SETTINGS.
"""

import dataclasses

MODELS = {"smollm2": "SmolLM2-135M-Instruct.Q4_1.gguf", "gemma3": "gemma-3-270m-q4_k_m.gguf"}
FAR_CONTEXT = 8192  # where needles of the grade "high" are looked for
FAR_MODELS = ("gemma3",)


@dataclasses.dataclass(frozen=True)
class Setting:
    """Forms of keys and values as -ctk and -ctv name them, or those that --state-quality chooses."""

    keys: str = ""
    values: str = ""
    grade: str = ""
    quality: str = ""

    @property
    def name(self):
        """As `cairn eval` names it."""
        if self.quality:
            return self.quality
        return self.keys if self.keys == self.values else f"{self.keys}/{self.values}"


@dataclasses.dataclass(frozen=True)
class Grade:
    bits: float  # for each element of K and V, the mean of both, at most
    kl: dict  # {model: mean divergence from the f32 state at 2,048 tokens, at most}
    copy_nats: float = None  # over the f32 state for each copied token, at most
    needles: bool = False  # as many as the f32 state finds at FAR_CONTEXT


GRADES = {
    "near-lossless": Grade(bits=5.5, kl={"smollm2": 0.002, "gemma3": 0.002}),
    "high": Grade(bits=4.4, kl={"smollm2": 0.02, "gemma3": 0.01}, needles=True),
    "small": Grade(bits=3.2, kl={"smollm2": 0.08, "gemma3": 0.04}, copy_nats=0.08),
}

SETTINGS = (
    Setting("f16", "f16"),
    Setting("bf16", "bf16"),
    Setting("q8_0", "q8_0"),
    Setting("f8_e4m3", "f8_e4m3"),
    Setting("q8_0", "q4_0"),
    Setting("q5_1", "q5_1"),
    Setting("q5_0", "q5_0"),
    Setting("q4_1", "q4_1"),
    Setting("iq4_nl", "iq4_nl"),
    Setting("q4_0", "q4_0"),
    Setting("q8_0+std", "q8_0+rot"),
    Setting("lm5+std+ends", "lm5+rot+ends", "near-lossless"),
    Setting("lm4+std+ends", "lm4+rot+ends", "high"),
    Setting("lm4+std+ends", "lm2+rot+ends", "small"),
    Setting(quality="near-lossless", grade="near-lossless"),
    Setting(quality="high", grade="high"),
    Setting(quality="balanced"),
    Setting(quality="small", grade="small"),
)


def row(name, value, unit, limit=None, at_least=False):
    """`limit` None: there is no target, and nothing to be met."""
    if limit is None:
        return {"name": name, "value": value, "unit": unit, "target": None, "met": None}
    met = value >= limit if at_least else value <= limit
    return {"name": name, "value": value, "unit": unit, "target": f"{'>=' if at_least else '<='} {limit:g}", "met": met}


class Measured:
    """The rows of a document of `cairn eval --json`, by task and setting."""

    def __init__(self, document):
        self.rows = {(r["task"], r["setting"]): r for r in document["rows"]}

    def value(self, task, setting, key):
        return self.rows[task, setting][key]

    def bits(self, setting):
        """The mean of K and V; what a model doesn't have doesn't count."""
        found = self.rows["kl", setting]
        bits = [b for b in (found["key_bits"], found["value_bits"]) if b is not None]
        return sum(bits) / len(bits) if bits else 0.0


def rows_of(model, near, settings, far=None):
    """`near`: kl and copy of all settings at one context; `far`: needle of those that wants_far names, or None."""
    result = [row(f"{model} f32 again: KL", near.value("kl", "f32 again", "kl_mean"), "nats", 0)]
    for setting in settings:
        grade = GRADES.get(setting.grade)
        name = f"{model} {setting.name}"
        result.append(row(f"{name}: bits", near.bits(setting.name), "bits", grade and grade.bits))
        kl = row(f"{name}: KL", near.value("kl", setting.name, "kl_mean"), "nats", grade and grade.kl[model])
        kl["error"] = near.value("kl", setting.name, "kl_error")
        kl["over_f16"] = near.value("kl", setting.name, "kl_over_f16")
        result.append(kl)
        copy = near.value("copy", setting.name, "over_f32_nats")
        result.append(row(f"{name}: copy over f32", copy, "nats", grade and grade.copy_nats))
        if far and wants_far(model, setting):
            found, full = (far.value("needle", which, "chosen_percent") for which in (setting.name, "f32"))
            result.append(row(f"{name}: needles at {FAR_CONTEXT:,}", found, "%", full, at_least=True))
    return result


def wants_far(model, setting):
    grade = GRADES.get(setting.grade)
    return grade is not None and grade.needles and model in FAR_MODELS


def table(rows):
    lines = ["| row | value | unit | target | met |", "|---|---:|---|---|---|"]
    for r in rows:
        met = {None: "", True: "yes", False: "NO"}[r["met"]]
        lines.append(f"| {r['name']} | {r['value']:.4g} | {r['unit']} | {r['target'] or ''} | {met} |")
    wanted = [r for r in rows if r["target"] is not None]
    return "\n".join([*lines, "", f"{sum(r['met'] for r in wanted)} of {len(wanted)} targets met."])
