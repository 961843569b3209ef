#!/usr/bin/env python3
"""The commands of docs/serve.md, run by curl as they are written there, and streams as curl shows them."""

import json
import re
import shlex
import subprocess
import unittest

from serve_process import MODEL, ROOT, Server


def commands(text):
    """Those behind a "$ ", with the lines that go on, and what is shown below each."""
    found = []
    for line in text.splitlines():
        if line.startswith("    $ curl "):
            found.append([line[6:], ""])
        elif found and line.startswith("    ") and not found[-1][1] and found[-1][0].count("'") % 2 == 1:
            found[-1][0] += "\n" + line.strip()
        elif found and line.startswith("    {") and not found[-1][1]:
            found[-1][1] = line.strip()
    return [tuple(each) for each in found]


@unittest.skipUnless(MODEL.exists(), f"{MODEL.name} is absent, `make models` brings it")
class CurlTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--api-key", "secret")
        cls.addClassCleanup(cls.server.stop)

    def curl(self, *arguments, key="secret"):
        command = ["curl", "-sS", "--max-time", "120", "-H", f"Authorization: Bearer {key}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=150)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_documents_commands_do_what_it_says(self):
        shown = commands((ROOT / "docs" / "serve.md").read_text())
        self.assertGreaterEqual(len(shown), 3)
        names = {}  # the document's ids: what they are here
        for command, answer in shown:
            for name, real in names.items():
                command = command.replace(name, real)
            words = [word.replace("localhost:8080", f"127.0.0.1:{self.server.port}") for word in shlex.split(command)[1:]]
            self.assertNotIn("..", " ".join(words), "an id that no command before has shown")
            body = json.loads(self.curl(*words))
            for member in re.findall(r'"(\w+)":', answer):
                self.assertIn(f'"{member}"', json.dumps(body), command)
            for name in re.findall(r'"id": "(ctx-\w+\.\.)"', answer):
                names.setdefault(name, self.id_of(body))

    @staticmethod
    def id_of(body):
        return body["data"][0]["id"] if "data" in body else body["id"]

    def test_a_stream_comes_as_lines_of_data_that_end_with_done(self):
        body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 5, "stream": True, "temperature": 0}
        text = self.curl("-N", f"{self.server.url}/v1/chat/completions", "-d", json.dumps(body))
        events = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
        self.assertEqual(events[-1], "[DONE]")
        pieces = [json.loads(event)["choices"][0]["delta"].get("content") for event in events[:-1]]
        whole = json.loads(self.curl(f"{self.server.url}/v1/chat/completions", "-d", json.dumps({**body, "stream": False})))
        self.assertEqual("".join(filter(None, pieces)), whole["choices"][0]["message"]["content"])

    def test_statuses_are_what_curl_can_ask_for(self):
        status = ("-o", "/dev/null", "-w", "%{http_code}")
        self.assertEqual(self.curl(*status, f"{self.server.url}/state"), "200")
        self.assertEqual(self.curl(*status, f"{self.server.url}/state", key="wrong"), "401")
        self.assertEqual(self.curl(*status, f"{self.server.url}/v1/chat/completions", "-d", "{"), "400")
        self.assertEqual(self.curl(*status, "-X", "DELETE", f"{self.server.url}/health"), "405")
        self.assertEqual(self.curl(*status, "--http1.0", f"{self.server.url}/health"), "200")


if __name__ == "__main__":
    unittest.main()
