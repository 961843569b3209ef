"""A headless Chromium, driven through its DevTools protocol over two pipes; nothing but the standard library.

    with Chromium() as browser:
        browser.open(path)
        browser.evaluate("document.title")

What the page logs as an error, throws, or asks the network for is collected, for tests to look at.
"""

import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

LIMIT_S = 60
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # root in a container has no other way
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--no-default-browser-check",
)


class Chromium:
    def __init__(self):
        program = shutil.which("chromium")
        if program is None:
            raise RuntimeError("chromium is not installed; scripts/install.sh test brings it")
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        here_reads, browser_writes = os.pipe()
        browser_reads, here_writes = os.pipe()
        # The browser reads commands from descriptor 3 and writes to 4.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{browser_reads} 4>&{browser_writes}', "sh",
             program, *FLAGS, f"--user-data-dir={self.profile.name}", "about:blank"],
            pass_fds=(browser_reads, browser_writes), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        os.close(browser_reads)
        os.close(browser_writes)
        self.reads, self.writes = here_reads, here_writes
        self.buffer = b""
        self.last_id = 0
        self.session = None
        self.problems = []  # errors and exceptions of the page
        self.requests = []  # addresses it asked for, its own file aside
        self.loaded = False
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(LIMIT_S)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.reads)
        os.close(self.writes)
        self.profile.cleanup()

    def call(self, method, **parameters):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.writes, data) :]
        deadline = time.monotonic() + LIMIT_S
        while True:
            answer = self.receive(deadline, method)
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def receive(self, deadline, purpose):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.reads], [], [], max(0, deadline - time.monotonic()))
            piece = os.read(self.reads, 1 << 20) if ready else b""
            if not piece:
                raise RuntimeError(f"chromium gave no answer to {purpose} within {LIMIT_S} s")
            self.buffer += piece
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def note(self, event):
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert", "warning"):
            self.problems.append(json.dumps(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.problems.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def open(self, path, fragment=""):
        """Loads a file; returns when its load event has fired."""
        self.visit(pathlib.Path(path).resolve().as_uri() + fragment)

    def visit(self, address):
        """Loads what is at an address; returns when its load event has fired."""
        self.problems, self.requests, self.loaded = [], [], False
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        deadline = time.monotonic() + LIMIT_S
        while not self.loaded or self.evaluate("location.href").split("#")[0] != address.split("#")[0]:
            self.note(self.receive(deadline, f"loading {address}"))
        self.requests = [url for url in self.requests
                         if url.split("#")[0] not in (address.split("#")[0], "about:blank") and not url.startswith("data:")]

    def evaluate(self, expression):
        """The expression's value, awaited if it is a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if details := answer.get("exceptionDetails"):
            raise RuntimeError(f"{expression[:200]}: {details.get('exception', details).get('description', details)}")
        return answer["result"].get("value")

    def size_window(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def prefer(self, scheme):
        """'light' or 'dark'."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key, code=None):
        # What activates links and buttons is the character that Enter types.
        typed = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown" if typed else "rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, **typed,
                      windowsVirtualKeyCode={"Tab": 9, "ArrowRight": 39, "ArrowLeft": 37, "Enter": 13}.get(key, 0))

    def screenshot(self, path):
        import base64

        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        pathlib.Path(path).write_bytes(base64.b64decode(taken["data"]))
