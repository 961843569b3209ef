"""Agents' sessions through the server, and through the prefix tree alone: both must find the same tokens."""

import importlib.machinery
import importlib.util
import pathlib
import tempfile

import peers
import serve_loads
import serve_trace
import versus_results as results
from serve_client import ask
from serve_measure import WrongAnswer

TRACE = pathlib.Path("agentic") / "agentic_coding.rle.jsonl.gz"
SOLO_EVERY = 25  # of the requests, one in so many is asked again alone
SPARE_TOKENS = 256


def bench_state():
    """bench/state, whose worker replays traces through the real tree."""
    loader = importlib.machinery.SourceFileLoader("bench_state", str(peers.ROOT / "bench" / "state"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Replay:
    def __init__(self, measurer):
        self.measurer, self.options = measurer, measurer.options
        # Room for the token that is answered.
        self.requests = serve_trace.read_sessions(self.options.traces / TRACE, measurer.sizes.sessions,
                                                  measurer.sizes.context - 1)  # fmt: skip
        self.prompts = [serve_trace.tokens_of(runs) for _, runs in self.requests]
        self.asked_tokens = sum(map(len, self.prompts))

    def through(self, who, flags=()):
        """One request after another: (tokens from the cache by usage, texts, seconds, command). One token is answered: what is
        kept then are the prompts alone, as in the replay."""
        cached, texts = 0, []
        with who.start(self.measurer.model, self.measurer.sizes.context, flags) as server:
            seconds = 0.0
            for prompt in self.prompts:
                answer = ask(server.port, "/v1/completions", serve_loads.completion(prompt, 1, stream=False))
                if answer.status != 200:
                    raise WrongAnswer(f"status {answer.status}: {answer.error}")
                cached += answer.cached
                texts.append(answer.text)
                seconds += answer.end_s - answer.sent_s
            return cached, texts, seconds, server.command

    def wrong(self, texts):
        """Of every SOLO_EVERYth answer, how many differ from those to the same prompts that shared nothing."""
        wrong = 0
        with self.measurer.cairn.start(self.measurer.model, self.measurer.sizes.context) as server:
            for index in range(0, len(self.prompts), SOLO_EVERY):
                body = serve_loads.completion(self.prompts[index], 1, stream=False, cache_salt=f"solo {index}")
                wrong += ask(server.port, "/v1/completions", body).text != texts[index]
        return wrong

    def by_the_tree(self, capacity_tokens):
        """Tokens that state_worker's tree finds, by LRU."""
        state = bench_state()
        worker = self.options.worker or state.build_worker()
        self.options.worker = worker
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch) / "trace"
            turns = [(time_s, (1, state.TURN_ENDS[None]), runs) for time_s, runs in self.requests]
            state.write_requests(turns, path)
            found = state.worker(self.options, "replay", path, serve_trace.TOKENS_OF_BLOCK, capacity_tokens, "lru")
        return round(found["hit_rate"] * found["tokens"])

    def row(self, row, flags, expected, machine, more):
        cached, texts, seconds, command = self.through(self.measurer.cairn, flags)
        share, expected_share = cached / self.asked_tokens, expected / self.asked_tokens
        away = abs(share - expected_share) / expected_share
        self.measurer.say(f"{row.name}: {share:.4f} of {self.asked_tokens:,} tokens, expected {expected_share:.4f}")
        about = {"machine": machine, "commands": {"cairn": " ".join(command)}, "requests": len(self.prompts),
                 "tokens": self.asked_tokens, "cached_share": share, "replay_share": expected_share, "seconds": seconds,
                 "wrong_answers": self.wrong(texts), "checked_answers": len(range(0, len(texts), SOLO_EVERY))}  # fmt: skip
        return self.measurer.result(row, away, about | more)


def measure(measurer, row, wants):
    """The rows `wants` says yes to."""
    if not (measurer.options.traces / TRACE).exists():
        measurer.say(f"{measurer.options.traces / TRACE} is absent, the trace's rows are left out")
        return []
    replay, machine, done = Replay(measurer), results.machine(), []
    if wants(row["trace"]):
        expected = sum(serve_trace.found_without_bound(replay.prompts))
        done.append(replay.row(row["trace"], (), expected, machine, {}))
    if wants(row["trace bound"]):
        # A prompt that couldn't be held at all would be refused.
        longest = max(map(len, replay.prompts))
        capacity = max(serve_trace.distinct_tokens(replay.prompts) // 3, longest + SPARE_TOKENS)
        with measurer.cairn.start(measurer.model, measurer.sizes.context) as server:
            bytes_per_token = server.state()["occupancy"]["bytes_per_token"]
        flags = ("--eviction", "lru", "--state-bytes", str(capacity * bytes_per_token))
        more = {"capacity_tokens": capacity}
        done.append(replay.row(row["trace bound"], flags, replay.by_the_tree(capacity), machine, more))
    return done
