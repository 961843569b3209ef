"""What bench/growth measures: runs of `cairn bench` and `cairn size`, and what they say."""

import dataclasses
import json
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHORTEST_PROMPT = 512
STATE_TYPE = "f16"


class Failure(Exception):
    """One line for the user."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """How far one model is followed."""

    prompts: list
    depths: list
    answer: int
    sequences: list
    sequence_tokens: int
    roofline_depths: list


def command_text(words):
    """A command as a reader of another machine would type it in the project's root."""
    return " ".join(words).replace(f"{ROOT}/", "")


def doublings(first, last):
    """first, 2 first, ..., and `last` itself."""
    values = []
    while first < last:
        values.append(first)
        first *= 2
    return [*values, last]


def plan_for(context_length, options):
    """To the model's context: prompts double, answers start where room for them is left."""
    last = min(context_length, options.longest)
    room = last - options.answer
    deep = [depth for depth in (4096, 16384) if depth + SHORTEST_PROMPT <= last]
    return Plan(
        prompts=doublings(min(SHORTEST_PROMPT, last), last),
        depths=[0, *doublings(min(SHORTEST_PROMPT, room), room)],
        answer=options.answer,
        sequences=doublings(1, options.sequences),
        sequence_tokens=min(options.sequence_tokens, last - 1),
        roofline_depths=[0, *deep],
    )


def run(command):
    """The JSON that a program prints; it must succeed."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Failure(f"`{' '.join(command)}` ended with code {done.returncode}: {last}")
    return json.loads(done.stdout)


def seconds(record):
    """Median, lowest and highest of a record's repetitions."""
    samples = [ns / 1e9 for ns in record["samples_ns"]]
    return {"median": statistics.median(samples), "low": min(samples), "high": max(samples), "samples": len(samples)}


class Measurer:
    """Measures one model with one program; `say` tells what is going on."""

    def __init__(self, options, model, say):
        self.cairn, self.model, self.say = str(options.cairn), pathlib.Path(model), say
        self.threads, self.rounds = options.threads, options.rounds
        self.commands = []

    def bench(self, *flags, rounds=None):
        command = [
            *(self.cairn, "bench", "-m", str(self.model), *flags),
            *("-t", str(self.threads), "-ctk", STATE_TYPE, "-ctv", STATE_TYPE),
            *("-r", str(rounds or self.rounds), "-o", "json"),
        ]
        self.commands.append(command_text(["cairn", *command[1:]]))
        return run(command)

    def size(self, tokens, sequences):
        command = [
            *(self.cairn, "size", str(self.model), "--context", str(tokens), "--batch", str(sequences)),
            *("-ctk", STATE_TYPE, "-ctv", STATE_TYPE, "--json"),
        ]
        return run(command)

    def context_length(self):
        return self.size(1, 1)["context_length"]

    def prompts(self, plan):
        self.say(f"prompts of {plan.prompts[0]} to {plan.prompts[-1]} tokens")
        records = self.bench("-p", ",".join(map(str, plan.prompts)), "-n", "0")
        return [{"tokens": r["n_prompt"], **seconds(r)} for r in records]

    def answers(self, plan):
        self.say(f"answers after up to {plan.depths[-1]} tokens")
        depths = ",".join(map(str, plan.depths))
        records = self.bench("-p", "0", "-n", str(plan.answer), "-d", depths)
        return [{"depth": r["n_depth"], "tokens": r["n_gen"], **seconds(r)} for r in records]

    def memory(self, plan):
        rows = []
        for count in plan.sequences:
            self.say(f"memory of {count} sequences of {plan.sequence_tokens} tokens")
            flags = ("-p", "0", "-n", "1", "-d", str(plan.sequence_tokens), "--sequences", str(count))
            record = self.bench(*flags, rounds=1)[0]
            size = self.size(plan.sequence_tokens, count)["sizes"][0]
            rows.append({
                "sequences": count,
                "tokens": plan.sequence_tokens,
                "resident_bytes": record["resident_bytes"],
                "live_bytes": record["state_live_bytes"],
                "predicted_bytes": size["allocated_bytes"],
            })  # fmt: skip
        return rows

    def roofline(self, plan):
        self.say("shares of the machine's limits")
        depths = ",".join(map(str, plan.roofline_depths))
        flags = ("-p", str(plan.prompts[0]), "-n", str(plan.answer), "-d", depths, "--roofline")
        records = self.bench(*flags)
        keys = ("n_prompt", "n_gen", "n_depth", "roofline")
        return [{key: record[key] for key in keys} for record in records]

    def everything(self, options):
        plan = plan_for(self.context_length(), options)
        return {
            "model": self.model.name,
            "prompts": self.prompts(plan),
            "answers": self.answers(plan),
            "memory": self.memory(plan),
            "roofline": self.roofline(plan),
            "commands": self.commands,
        }
