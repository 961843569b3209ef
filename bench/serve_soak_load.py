"""What bench/serve_soak asks for: requests whose only right answer is known, and what no server should be sent.

Every answer is greedy or has a seed, so that it depends on its request alone.
"""

import json
import random
import socket

import serve_loads

CHAT, COMPLETIONS, MESSAGES = "/v1/chat/completions", "/v1/completions", "/v1/messages"
SCHEMA = {"type": "object", "properties": {"place": {"enum": ["river", "hill", "house"]}, "boats": {"type": "integer"},
          "wet": {"type": "boolean"}}, "required": ["place", "boats", "wet"], "additionalProperties": False}  # fmt: skip
TOOL = {"type": "function", "function": {"name": "weather", "description": "The weather somewhere", "parameters": {
        "type": "object", "properties": {"town": {"type": "string", "maxLength": 12}, "days": {"enum": [1, 2, 3]}},
        "required": ["town", "days"]}}}  # fmt: skip
# Bytes that are no request, and the status that each gets; 0: the connection is closed.
MALFORMED = [
    (b"\x16\x03\x01\x00\xa5\x01\x00\x00", (400, 0)),
    (b"GET / HTTP/9.9\r\n\r\n", (400,)),
    (b"GET / HTTP/1.1\r\nA: " + b"a" * 100_000 + b"\r\n\r\n", (431, 0)),
    (b"POST /tokenize HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n", (413,)),
    (b"POST /tokenize HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", (400,)),
    (b"POST /tokenize HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", (400,)),
    (b"GET /../../etc/passwd HTTP/1.1\r\nConnection: close\r\n\r\n", (404,)),
    (b"GET /health HT", (0,)),
]
WRONG_BODIES = [b"", b"{", b"\xff\xfe\x00", b'{"messages":' + b"[" * 50_000, b'{"temperature":NaN}', b"null",
                b'{"messages":[{"role":"user","content":"\xc3\x28"}]}', b'{"messages":[],"max_tokens":-1}',
                b'{"messages":[{"role":"user","content":"x"}],"response_format":{"type":"yaml"}}']  # fmt: skip


def text(draw, words):
    return " ".join(draw.choices(serve_loads.WORDS, k=words))


def pool(seed, systems=4):
    """[(kind, path, body)] of requests that begin alike in groups, as conversations do."""
    draw = random.Random(seed)
    openings = [text(draw, words) for words in (40, 120, 250, 400)][:systems]
    made = []
    for number in range(48):
        opening = openings[number % len(openings)]
        kind = ("greedy stream", "seed", "forks", "schema", "tool", "completion", "messages", "logprobs")[number % 8]
        messages = [{"role": "system", "content": opening}, {"role": "user", "content": text(draw, draw.randrange(3, 60))}]
        greedy = {"messages": messages, "max_tokens": draw.randrange(8, 49), "temperature": 0}
        seeded = greedy | {"temperature": 1.1, "seed": number}
        path, body = {
            "greedy stream": (CHAT, greedy | {"stream": True, "stream_options": {"include_usage": True}}),
            "seed": (CHAT, seeded | {"stream": number % 16 == 1, "cache_salt": "another tenant"}),
            "forks": (CHAT, seeded | {"n": 3, "max_tokens": 100}),
            "schema": (CHAT, seeded | {"max_tokens": 80, "response_format": {
                "type": "json_schema", "json_schema": {"name": "visit", "schema": SCHEMA}}}),
            "tool": (CHAT, greedy | {"max_tokens": 80, "tools": [TOOL], "tool_choice": "required"}),
            "completion": (COMPLETIONS, {"prompt": opening + " " + text(draw, 20), "max_tokens": draw.randrange(120, 240), "temperature": 0,
                                         "ignore_eos": True}),
            "messages": (MESSAGES, {"messages": messages[1:], "system": opening, "max_tokens": 24, "temperature": 0}),
            "logprobs": (CHAT, greedy | {"logprobs": True, "top_logprobs": 3, "max_tokens": 12}),
        }[kind]  # fmt: skip
        made.append((kind, path, body))
    return made


def connect(port, timeout=60):
    return socket.create_connection(("127.0.0.1", port), timeout=timeout)


def request_bytes(path, data):
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


def leave_early(port, path, body, draw):
    """Asks, reads a little or nothing, and is gone."""
    with connect(port) as connection:
        connection.sendall(request_bytes(path, json.dumps(body).encode()))
        connection.settimeout(draw.uniform(0.01, 0.5))
        try:
            for _ in range(draw.randrange(4)):
                connection.recv(512)
        except TimeoutError:
            pass


def close_half(port, path, body):
    """Asks and ends its sending at once; the status of what comes back, 0 for nothing."""
    with connect(port) as connection:
        connection.sendall(request_bytes(path, json.dumps(body).encode()))
        connection.shutdown(socket.SHUT_WR)
        return status_of(read_all(connection))


def send_half(port, path, body, draw):
    """A request of which only a part ever comes."""
    data = request_bytes(path, json.dumps(body).encode())
    with connect(port) as connection:
        connection.sendall(data[: draw.randrange(1, len(data))])


def send_raw(port, data, ends=True):
    """The status of what comes back for these bytes; `ends`: the server is told that nothing more comes."""
    with connect(port) as connection:
        try:
            connection.sendall(data)
            if ends:
                connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it may have answered and closed already
        return status_of(read_all(connection))


def read_all(connection):
    """Until the server closes."""
    found = b""
    try:
        while part := connection.recv(1 << 16):
            found += part
    except ConnectionResetError:
        pass  # a server that leaves bytes unread resets the connection
    return found


def status_of(found):
    words = found.split(b" ", 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
