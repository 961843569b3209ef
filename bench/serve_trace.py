"""Agents' sessions of a public trace, made small: which requests they are, and what a prefix tree finds of them.

A block of the trace's 64 tokens becomes TOKENS_OF_BLOCK tokens that its name alone decides, so that prompts share what they
shared. Sessions are those that fit the context, in the file's order; they begin evenly at random within HOURS, and the
requests of all are asked one after another in the order of their times.
"""

import gzip
import json
import random

TOKENS_OF_BLOCK = 4
REQUESTS_OF_SESSION = (10, 60)
HOURS = 1
SEED = 11
VOCABULARY = (100, 32_000)  # ids that are no special ones in either model


def flat(requests, start=0.0):
    """(time, runs of blocks) of a session's requests, those of its helpers among them."""
    for request in requests:
        if "requests" in request:
            yield from flat(request["requests"], start + request["t"])
        else:
            yield start + request["t"], request["hash_rle"]


def blocks_in(runs):
    return sum(count for _, count in runs)


def read_sessions(path, sessions, context):
    """[(time, runs of block numbers)] in order. Block numbers of different sessions differ."""
    starts, chosen, offset, taken = random.Random(SEED), [], 0, 0
    with gzip.open(path, "rt") as file:
        for line in file:
            requests = list(flat(json.loads(line)["requests"]))
            longest = max((blocks_in(runs) for _, runs in requests), default=0)
            fits = longest * TOKENS_OF_BLOCK + 1 < context
            if not fits or not REQUESTS_OF_SESSION[0] <= len(requests) <= REQUESTS_OF_SESSION[1]:
                continue
            start = starts.uniform(0, HOURS * 3600)
            chosen += [(start + time_s, [(first + offset, count) for first, count in runs]) for time_s, runs in requests]
            offset += 1 + max(first + count for _, runs in requests for first, count in runs)
            taken += 1
            if taken == sessions:
                break
    return sorted((request for request in chosen if request[1]), key=lambda request: request[0])


def tokens_of(runs):
    """The same block is always the same tokens."""
    tokens = []
    for first, count in runs:
        for block in range(first, first + count):
            draw = random.Random(block)
            tokens += [draw.randrange(*VOCABULARY) for _ in range(TOKENS_OF_BLOCK)]
    return tokens


def found_without_bound(prompts):
    """Of each prompt, the tokens that any earlier one begins with; the last token is always computed."""
    seen, found = set(), []
    for prompt in prompts:
        prefix, hits, going = 0, 0, True
        for token in prompt:
            prefix = hash((prefix, token))
            going = going and prefix in seen
            hits += going
            seen.add(prefix)
        found.append(min(hits, len(prompt) - 1))
    return found


def distinct_tokens(prompts):
    """Tokens of state, if each prefix is kept once."""
    seen = set()
    for prompt in prompts:
        prefix = 0
        for token in prompt:
            prefix = hash((prefix, token))
            seen.add(prefix)
    return len(seen)
