"""Processes that bench/versus keeps alive and asks for one measurement at a time, and processes that
disturb them."""

import contextlib
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import time

from peers import fetch

ANSWER_LIMIT_S = 3600  # filling a deep quantized state takes llama.cpp many minutes on a busy machine


class Worker:
    """A process that answers each line on its standard input with one of JSON: see
    tools/bench_on_request.h and llamacpp_worker.cc. Closed by close(), or as a context."""

    def __init__(self, command, environment=None):
        self.command = [str(part) for part in command]
        self.started = time.perf_counter()
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
            env={**os.environ, **(environment or {})},
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def ask(self, line):
        """The answer to one line. fetch.Failure: the worker refused, died, or doesn't answer."""
        try:
            self._process.stdin.write(line.encode() + b"\n")
        except BrokenPipeError:
            pass  # the missing answer says so
        text = self._read_line()
        if not text.endswith(b"\n"):
            raise fetch.Failure(f"`{' '.join(self.command)}` gave no answer to `{line}`: {self._last_error()}")
        answer = json.loads(text)
        if "error" in answer:
            raise fetch.Failure(f"`{' '.join(self.command)}` can't do `{line}`: {answer['error']}")
        return answer

    def peak_bytes(self):
        """The most memory that the process has held at once, files mapped into it included."""
        for line in pathlib.Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        raise fetch.Failure("/proc has no VmHWM for the worker")

    def close(self):
        self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def _read_line(self):
        text, end = b"", time.monotonic() + ANSWER_LIMIT_S
        while not text.endswith(b"\n"):
            if not select.select([self._process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
                self._process.kill()
                return text
            part = self._process.stdout.read(1 << 16)
            if not part:
                return text
            text += part
        return text

    def _last_error(self):
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "no message"


class Workers:
    """The live workers by key; a key that isn't live is started with the command given."""

    def __init__(self):
        self._live = {}

    def get(self, key, command):
        if key not in self._live:
            self._live[key] = Worker(command)
        return self._live[key]

    def close_all(self):
        while self._live:
            self._live.popitem()[1].close()


@contextlib.contextmanager
def burners(count):
    """`count` processes that each keep one core busy, as a shared machine's other users do."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        if count:
            time.sleep(0.2)  # until they really burn
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def seconds_to_first_byte(command):
    """From the start of a process to the first byte that it writes."""
    started = time.perf_counter()
    with subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, bufsize=0) as process:  # fmt: skip
        first = process.stdout.read(1)
        elapsed = time.perf_counter() - started
        process.stdout.read()
    if not first or process.returncode != 0:
        raise fetch.Failure(f"`{' '.join(map(str, command))}` wrote nothing, or ended with code {process.returncode}")
    return elapsed
