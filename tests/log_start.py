"""What tests/check_logs and its frameworks share: asking the program, and counting what would print a number."""

import json
import math
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAIRN = os.environ.get("CAIRN", str(ROOT / "build" / "cairn"))


class Unanswerable(Exception):
    """The record doesn't tell enough to ask the question."""


class Start:
    """One start of a framework: a config or a model's name, and settings; answers are remembered."""

    def __init__(self, folder, model, profile, settings):
        self.path = model
        if not isinstance(model, str):
            text = json.dumps(model)
            self.path = pathlib.Path(folder) / f"{abs(hash(text)):x}.json"
            self.path.write_text(text)
        self.profile, self.settings, self.known = profile, settings, {}

    def ask(self, **more):
        key = tuple(sorted(more.items()))
        if key not in self.known:
            sets = [f"--set={name}={value}" for name, value in {**self.settings, **more}.items()]
            command = [CAIRN, "size", str(self.path), "--profile", self.profile, *sets, "--json"]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            if run.returncode != 0:
                raise Unanswerable(run.stderr.strip() or f"exit code {run.returncode}")
            self.known[key] = json.loads(run.stdout)["profile"]
        return self.known[key]


def known_model(folder, names):
    """The first of the names that is in the program's catalogue; None without one."""
    for name in names:
        try:
            Start(folder, name, "llama.cpp", {}).ask()
        except Unanswerable:
            continue
        return name
    return None


def printed(value, digits=2):
    return f"{value:.{digits}f}"


def first_at_least(function, wanted, low, high):
    """The smallest n of low .. high with function(n) >= wanted; high + 1 without one."""
    while low <= high:
        middle = (low + high) // 2
        if function(middle) >= wanted:
            high = middle - 1
        else:
            low = middle + 1
    return low


def near(function, wanted, low, high):
    """A narrower range around where function, which is nearly a line through zero, reaches `wanted`."""
    probe = min(1 << 16, high)
    if high - low < 64 or not (value := function(probe)):
        return low, high
    guess, width = int(wanted / value * probe), 16
    start, end = max(low, guess - width), min(high, guess + width)
    while start > low and (start > high or function(start) >= wanted):
        width *= 16
        start = max(low, guess - width)
    while end < high and (end < low or function(end) < wanted):
        width *= 16
        end = min(high, guess + width)
    return start, end


def interval(function, value, allowed):
    """All n of the range `allowed` with function(n) == value; function never falls."""
    low = first_at_least(function, value, *near(function, value, *allowed))
    above = math.nextafter(value, math.inf)
    high = first_at_least(function, above, *near(function, above, low, allowed[1])) - 1
    return low, high


def meet(a, b):
    return max(a[0], b[0]), min(a[1], b[1])


class Outcome:
    """What a record's start was found to print."""

    def __init__(self):
        self.predicted, self.problems, self.slack, self.profile = [], [], 0.0, ""

    def compare(self, key, logged, found, digits=2, cut=False):
        """A number printed with `digits` digits; with `cut` its other digits may have been cut off, not rounded."""
        right = f"{logged:.{digits}f}" == printed(found, digits)
        if not right and cut:
            right = f"{logged:.{digits}f}" == printed(math.floor(found * 10**digits) / 10**digits, digits)
            digits += 1
        self.predicted.append(f"{key} {found:,.{digits}f}")
        if not right:
            self.problems.append(f"{key} is {found:,.4f}, printed {logged}")
