"""The servers that bench/serve measures: processes that are started for one measurement, and ended after it, so that
none finds what an earlier one left and no two ever take each other's processor time."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

import peers
import serve_client

START_LIMIT_S = 120


class Server:
    """A process that answers at `port`, once it says so at /health."""

    def __init__(self, command, port):
        self.command, self.port = [str(part) for part in command], port
        self._log = tempfile.TemporaryFile()
        started = time.perf_counter()
        self.process = subprocess.Popen(self.command, stdout=self._log, stderr=self._log)
        while not self._healthy():
            if self.process.poll() is not None or time.perf_counter() - started > START_LIMIT_S:
                self.stop(signal.SIGKILL)
                raise peers.fetch.Failure(f"`{' '.join(self.command)}` didn't start: {self._last_words()}")
            time.sleep(0.01)
        self.start_s = time.perf_counter() - started

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self._log.close()

    def _healthy(self):
        try:
            return serve_client.get_json(self.port, "/health", timeout=5)[0] == 200
        except (OSError, ValueError):
            return False

    def _last_words(self):
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "no message"

    def stop(self, with_signal=signal.SIGTERM):
        """The exit code."""
        if self.process.poll() is None:
            self.process.send_signal(with_signal)
        try:
            return self.process.wait(timeout=90)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def resident_bytes(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        return 0

    def processor_s(self):
        """What its threads have computed so far, all together."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def state(self):
        return serve_client.get_json(self.port, "/state")[1]


def free_port():
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Cairn:
    """How to start `cairn serve`."""

    who = "cairn"

    def __init__(self, program, threads):
        self.program, self.threads = program, threads

    def start(self, model, context, flags=(), port=None):
        port = port or free_port()
        return Server([self.program, "serve", "-m", model, "--port", port, "-t", self.threads, "-c", context, *flags], port)


class LlamaServer:
    """How to start llama-server; `context` is what one user may have, `flags` with -np N say for how many."""

    who = "llama-server"

    def __init__(self, llamacpp, threads):
        self.program, self.threads = llamacpp.server, threads

    def start(self, model, context, flags=()):
        port = free_port()
        users = int(flags[flags.index("-np") + 1]) if "-np" in flags else 1
        command = [self.program, "-m", model, "--host", "127.0.0.1", "--port", port, "-t", self.threads, "-tb", self.threads,
                   "-c", context * users, "--no-ui", *flags]  # fmt: skip
        return Server(command, port)
