"""The load client of bench/serve and bench/serve_soak: requests over HTTP, streams with the time of every piece.

The same for all servers. While an answer arrives only bytes and times are kept; they are read once it is over, so that
the client takes little of the machine that it measures. Threads, since it mostly waits.
"""

import dataclasses
import http.client
import json
import threading
import time

TIMEOUT_S = 900


@dataclasses.dataclass
class Answer:
    """One request's outcome. Times are of time.perf_counter()."""

    status: int = 0
    sent_s: float = 0.0
    end_s: float = 0.0
    token_times: list = dataclasses.field(default_factory=list)  # of events with text in them
    text: str = ""
    reason: str | None = None
    usage: dict = dataclasses.field(default_factory=dict)
    error: str = ""  # what the server, or the connection, said was wrong
    whole: bool = False  # a stream that ended with [DONE], or a body

    @property
    def first_token_s(self):
        return self.token_times[0] - self.sent_s

    @property
    def gaps(self):
        return [after - before for before, after in zip(self.token_times, self.token_times[1:])]

    @property
    def cached(self):
        return (self.usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)


def read_events(arrivals):
    """(time, data) of each server-sent event in `arrivals`, pairs of a time and the bytes that came then."""
    events, rest = [], b""
    for time_s, data in arrivals:
        *lines, rest = (rest + data).split(b"\n")
        events += [(time_s, line[6:].strip()) for line in lines if line.startswith(b"data: ")]
    return events


def text_of(choice):
    delta = choice.get("delta") or choice.get("message") or {}
    return choice.get("text") or delta.get("content") or ""


def fill_from_events(answer, events):
    for time_s, data in events:
        if data == b"[DONE]":
            answer.whole = True
            continue
        chunk = json.loads(data)
        if "error" in chunk:
            answer.error = json.dumps(chunk["error"])
            continue
        answer.usage = chunk.get("usage") or answer.usage
        for choice in chunk.get("choices", []):
            answer.reason = choice.get("finish_reason") or answer.reason
            if text := text_of(choice):
                answer.text += text
                answer.token_times.append(time_s)


def fill_from_body(answer, body):
    """Several choices' texts are joined by a zero byte; tool calls, logprobs and Anthropic's blocks are text."""
    found = json.loads(body)
    answer.usage = found.get("usage") or {}
    answer.whole = True
    choices = found.get("choices", [])
    if "content" in found:
        answer.text, answer.reason = json.dumps(found["content"], sort_keys=True), found.get("stop_reason")
        return
    answer.text = "\0".join(text_of(choice) + beside_text(choice) for choice in choices)
    answer.reason = choices[0].get("finish_reason") if choices else None


def beside_text(choice):
    """What else the model said; ids are drawn at random and left out."""
    calls = (choice.get("message") or {}).get("tool_calls") or []
    more = [[call["function"] for call in calls], choice.get("logprobs")]
    return json.dumps(more, sort_keys=True) if calls or choice.get("logprobs") else ""


def ask(port, path, body, timeout=TIMEOUT_S, progress=None):
    """POSTs `body`; never raises for what the network or the server does. `progress` is told how many events came."""
    answer = Answer()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        data = json.dumps(body).encode()
        connection.connect()
        answer.sent_s = time.perf_counter()
        connection.request("POST", path, body=data, headers={"Content-Type": "application/json"})
        response = connection.getresponse()
        answer.status = response.status
        if response.status != 200:
            answer.error = response.read().decode(errors="replace")
        elif (response.headers.get("Content-Type") or "").startswith("text/event-stream"):
            arrivals = []
            while part := response.read1(1 << 16):
                arrivals.append((time.perf_counter(), part))
                if progress:
                    progress(part.count(b"data: "))
            fill_from_events(answer, read_events(arrivals))
        else:
            fill_from_body(answer, response.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        answer.error = f"{type(error).__name__}: {error}"
        answer.whole = False
    finally:
        connection.close()
    answer.end_s = time.perf_counter()
    return answer


def get_json(port, path, body=None, timeout=60):
    """(status, JSON) of a GET, or of a POST where there is a body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        data = None if body is None else json.dumps(body).encode()
        connection.request("GET" if body is None else "POST", path, body=data)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


@dataclasses.dataclass
class Load:
    """What all users together got."""

    answers: list  # of each user, in order
    seconds: float  # from the first byte sent to the last one read
    client_share: float  # of one processor, that this client took meanwhile
    processor_s: float = 0.0  # what the server's threads took, where somebody asked

    @property
    def flat(self):
        return [answer for user in self.answers for answer in user]


class Gate:
    """Opens when each of `users` has had `events` events, or has ended."""

    def __init__(self, users, events):
        self._left = [events] * users
        self._closed = set(range(users))
        self._open = threading.Event()
        self._lock = threading.Lock()

    def note(self, user, events):
        with self._lock:
            self._left[user] -= events
            if self._left[user] <= 0:
                self._closed.discard(user)
            if not self._closed:
                self._open.set()

    def wait(self):
        self._open.wait()


def run_users(port, path, bodies_of_users, last_after=0):
    """All users at once, each with its requests one after another (a closed loop). With `last_after` the last user begins only
    when each of the others has had so many events."""
    answers = [[] for _ in bodies_of_users]
    gate = Gate(len(bodies_of_users) - 1, last_after) if last_after else None
    barrier = threading.Barrier(len(bodies_of_users) + 1)

    def user(index):
        last = index == len(bodies_of_users) - 1
        barrier.wait()
        if gate and last:
            gate.wait()
        progress = (lambda events: gate.note(index, events)) if gate and not last else None
        for body in bodies_of_users[index]:
            answers[index].append(ask(port, path, body, progress=progress))
        if progress:
            progress(last_after)

    threads = [threading.Thread(target=user, args=(index,)) for index in range(len(bodies_of_users))]
    for thread in threads:
        thread.start()
    processor_s, start_s = time.process_time(), time.perf_counter()
    barrier.wait()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - start_s
    return Load(answers, seconds, (time.process_time() - processor_s) / seconds)
