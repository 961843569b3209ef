"""A running `cairn serve` for tests: started on a free port, spoken to by bytes, ended by a signal."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAIRN = os.environ.get("CAIRN", str(ROOT / "build" / "cairn"))
MODEL = ROOT / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"


class Server:
    def __init__(self, *flags, model=MODEL):
        command = [CAIRN, "serve", "-m", str(model), "--port", "0", "-c", "1024", *map(str, flags)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.log = ""
        for line in self.process.stderr:
            self.log += line
            if found := re.search(r"listening on http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                return
        self.process.stderr.close()
        raise AssertionError(f"{command}: exit code {self.process.wait()}: {self.log}")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def stop(self, with_signal=signal.SIGTERM):
        """The exit code."""
        self.process.send_signal(with_signal)
        code = self.process.wait(timeout=60)
        self.process.stderr.close()
        return code

    def connection(self):
        return contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=120))

    def ask(self, path, body=None, headers=None):
        """(status, headers, text): POST where there is a body (bytes, or something for JSON), else GET."""
        with self.connection() as connection:
            data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            connection.request("GET" if body is None else "POST", path, body=data, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def ask_json(self, path, body=None, headers=None):
        status, _, text = self.ask(path, body, headers)
        return status, json.loads(text)

    def events(self, path, body):
        """The data of a stream's events."""
        status, headers, text = self.ask(path, body)
        assert status == 200, text
        assert headers["Content-Type"] == "text/event-stream"
        return [line[6:] for line in text.split("\n") if line.startswith("data: ")]

    def learn_the_cost_of_computing(self):
        """So that reads from tiers get as long as computing would take. After a start there is nothing to compare with, and
        on a busy machine a read may rightly be given up as late. Shares nothing with what is asked without a salt."""
        status, answer = self.ask_json("/v1/completions", {"prompt": "One two three", "max_tokens": 1, "cache_salt": "cost"})
        assert status == 200, answer

    def settle(self):
        """Waits until something was written to tiers and nothing is left to be."""
        for _ in range(1200):
            writes = self.ask_json("/state")[1]["writes"]
            if writes["waiting"] == 0 and writes["done"] > 0:
                return
            time.sleep(0.05)
        raise AssertionError("the tiers never took what was kept")

    def metric(self, name):
        _, _, text = self.ask("/metrics")
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    def send(self, data, read=True):
        """Sends the bytes as they are; what came back until the server closed."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(data)
            answer = b""
            while read and (part := connection.recv(65536)):
                answer += part
            return answer.decode("utf-8", "replace")
