#!/usr/bin/env python3
"""All tests, as `make test` and continuous integration run them.

  release   the product as users run it, kernels for every SIMD target; also style, scripts, end to end
  asan      the unit tests again under address and undefined-behaviour sanitizers
  fuzz      every fuzzer: the kept corpus, then some seconds of new inputs
  tsan      the folders with threads under the thread sanitizer

Each step says what it took. The last line counts test cases: doctest's and unittest's where a program
says how many it ran, else one a program. Exit code 0 only if everything passed.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Folders whose code runs on several threads, or is called from them.
TSAN_FOLDERS = ("base", "state", "models", "engine", "serve")
TEST_LIMIT_S = 1200  # a machine that is shared may take three times as long as an idle one
FUZZ_INPUT_LIMIT_S = 10
FUZZ_MEMORY_MB = 2048
# Tests that say nothing new under a sanitizer (style, scripts, whole models); see tests/CMakeLists.txt.
ONCE_LABEL = "once"

SANITIZER_ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "CAIRN_SLOW_BUILD": "1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}


class Tally:
    """Passed and failed test cases, and the steps' costs."""

    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.failures = []
        self.steps = []

    def add(self, name, passed, failed):
        self.passed += passed
        self.failed += failed
        if failed:
            self.failures.append(name)

    def timed(self, name, function, *arguments):
        """Runs a step; notes its wall and processor seconds."""
        print(f"\n== {name}", flush=True)
        wall, processor = time.monotonic(), processor_seconds()
        result = function(*arguments)
        self.steps.append((name, time.monotonic() - wall, processor_seconds() - processor))
        return result

    def report(self):
        print("\nstep                     wall s   processor s")
        for name, wall, processor in self.steps:
            print(f"{name:24} {wall:6.0f} {processor:13.0f}")
        for name in self.failures:
            print(f"FAILED: {name}")
        print(f"\n{self.passed} passed, {self.failed} failed", flush=True)


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(command, **options):
    return subprocess.run([str(part) for part in command], cwd=ROOT, stdin=subprocess.DEVNULL, **options)


def build(tally, preset, targets=()):
    done = run(["scripts/build.sh", preset, *targets])
    if done.returncode != 0:
        tally.add(f"build of {preset}", 0, 1)
    return done.returncode == 0


def build_with_benchmarks(tally):
    """The release build and the micro-benchmarks, which nothing else would link."""
    if not build(tally, "release"):
        return False
    run(["cmake", "-DCAIRN_BENCH=ON", "build/release"], stdout=subprocess.DEVNULL)
    benchmarks = sorted(path.stem for path in (ROOT / "cairn").glob("*/*_bench.cc"))
    return build(tally, "release", benchmarks)


def case_counts(output, succeeded):
    """(passed, failed) test cases of one program, from what doctest or unittest printed."""
    if found := re.search(r"\[doctest\] test cases:\s*\d+\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed", output):
        passed, failed = int(found[1]), int(found[2])
    elif found := re.search(r"^Ran (\d+) tests? in ", output, re.MULTILINE):
        bad = sum(int(count) for count in re.findall(r"(?:failures|errors)=(\d+)", output))
        passed, failed = int(found[1]) - bad, bad
    else:
        passed, failed = int(succeeded), 0
    if not succeeded and failed == 0:  # it crashed, or a check outside a test case failed
        failed = 1
    return passed, failed


def ctest(tally, preset, arguments=()):
    report = ROOT / "build" / preset / "junit.xml"
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", f"build/{preset}", "--output-on-failure", "-j", os.cpu_count()]
    command += ["--timeout", TEST_LIMIT_S, "--test-output-size-passed", 1 << 20, "--test-output-size-failed", 1 << 20]
    command += ["--no-tests=error", "--output-junit", report, *arguments]
    done = run(command, env={**os.environ, **SANITIZER_ENVIRONMENT})
    if not report.exists():
        tally.add(f"ctest of {preset}", 0, 1)
        return
    failed_before = tally.failed
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        succeeded = case.get("status") == "run"
        tally.add(f"{preset}: {case.get('name')}", *case_counts(case.findtext("system-out") or "", succeeded))
    if done.returncode != 0 and tally.failed == failed_before:
        tally.add(f"ctest of {preset}", 0, 1)


def fuzz_run(target, arguments):
    """Whether the fuzzer ended well; its output is shown if not."""
    done = run(
        [
            ROOT / "build" / "asan" / target,
            *(f"-timeout={FUZZ_INPUT_LIMIT_S}", f"-rss_limit_mb={FUZZ_MEMORY_MB}"),
            f"-artifact_prefix=build/fuzz/{target}/",
            *arguments,
        ],
        env={**os.environ, **SANITIZER_ENVIRONMENT},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode != 0:
        print(f"{target} {' '.join(arguments)}\n" + done.stdout[-6000:], flush=True)
        print(f"Keep the input in build/fuzz/{target}/: move it to tests/corpora/{target}/ and fix the code.")
    return done.returncode == 0


def fuzz_target(target, seconds):
    """(passed, failed) of replaying the kept corpus, then of fuzzing from it."""
    kept = f"tests/corpora/{target}"
    found = ROOT / "build" / "fuzz" / target / "corpus"
    shutil.rmtree(found.parent, ignore_errors=True)
    found.mkdir(parents=True)
    results = [fuzz_run(target, ["-runs=0", kept])]
    words = [f"-dict={kept}.dict"] if (ROOT / f"{kept}.dict").exists() else []
    if seconds:
        results.append(fuzz_run(target, [f"-max_total_time={seconds}", *words, str(found), kept]))
    return sum(results), len(results) - sum(results)


def fuzz(tally, seconds):
    targets = fuzz_targets()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for target, counts in zip(targets, pool.map(lambda target: fuzz_target(target, seconds), targets)):
            tally.add(f"fuzz: {target}", *counts)
            print(f"{target}: {'ok' if not counts[1] else 'FAILED'}", flush=True)


def fuzz_targets():
    return sorted(path.stem for path in (ROOT / "cairn").glob("*/*_fuzz.cc"))


def unit_test_targets(folders="*"):
    """The doctest programs, of all folders or of some; not the product, which costs a fifth of a build."""
    tested = {path.parent.name for path in (ROOT / "cairn").glob("*/*_test.cc")}
    whole = ["folders_test"] if list((ROOT / "tests").glob("*_test.cc")) else []
    return sorted(f"{folder}_test" for folder in tested if folders == "*" or folder in folders) + whole


def test_release(tally, _):
    if tally.timed("release: build", build_with_benchmarks, tally):
        tally.timed("release: test", ctest, tally, "release")


def test_asan(tally, options):
    if tally.timed("asan: build", build, tally, "asan", [*unit_test_targets(), *fuzz_targets()]):
        tally.timed("asan: test", ctest, tally, "asan", ["--label-exclude", ONCE_LABEL])
        tally.timed("asan: fuzz", fuzz, tally, options.fuzz_seconds)


def test_tsan(tally, _):
    targets = unit_test_targets(TSAN_FOLDERS)
    if tally.timed("tsan: build", build, tally, "tsan", targets):
        tally.timed("tsan: test", ctest, tally, "tsan", ["--tests-regex", f"^({'|'.join(targets)})$"])


STEPS = {"release": test_release, "asan": test_asan, "tsan": test_tsan}


def main():
    parser = argparse.ArgumentParser(description="Build and run all tests.")
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"some of {', '.join(STEPS)}; default: all")
    parser.add_argument("--fuzz-seconds", type=int, default=20, help="of new inputs for each fuzzer")
    options = parser.parse_args()
    if unknown := set(options.steps) - set(STEPS):
        parser.error(f"unknown step {', '.join(sorted(unknown))}; the steps are {', '.join(STEPS)}")
    tally = Tally()
    for step in options.steps or STEPS:
        STEPS[step](tally, options)
    tally.report()
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
