"""Measures bench/serve's rows beside llama-server and OpenVINO GenAI, in turns."""

import json
import pathlib
import statistics
import tempfile
import time

import peers
import serve_loads
import serve_rows
import serve_trace
import versus_results as results
from serve_client import ask, run_users
from workers import Worker

SETTLE_S = 0.5  # llama.cpp's threads spin for a tenth of a second after their last work
OPENVINO_CACHE_GIB = 2


class WrongAnswer(Exception):
    """A server that refused, broke off, or answered something else: nothing that it took is a measurement."""


def checked(load, answer_tokens):
    """The load, if all of it was answered in full."""
    for answer in load.flat:
        if answer.status != 200 or answer.error or not answer.whole:
            raise WrongAnswer(f"status {answer.status}: {answer.error or 'broken off'}")
        made = answer.usage.get("completion_tokens")
        if made not in answer_tokens:
            raise WrongAnswer(f"{made} tokens were generated, not {sorted(answer_tokens)}")
    return load


class Measurer:
    def __init__(self, options, cairn, llama, openvino, say):
        self.options, self.cairn, self.llama, self.openvino, self.say = options, cairn, llama, openvino, say
        self.sizes = options.sizes
        self.texts = None
        self.model = None
        self.model_name = None

    def open_model(self, name, path):
        """What follows is about this model."""
        self.model_name, self.model = name, path
        with self.cairn.start(self.model, self.sizes.context) as server:
            self.texts = serve_loads.Texts(server.port)
            # Token ids of words are asked for now, while a server is there that knows them.
            self.loads = {"shared": serve_loads.shared_prefix(self.texts, self.sizes),
                          "short": serve_loads.short_users(self.texts, self.sizes),
                          "arrival": serve_loads.arrival(self.texts, self.sizes)}  # fmt: skip
            self.returning = self.texts.start("returning", self.sizes.returning)
            self.back = self.texts.words("back", self.sizes.question)

    # ---- One measurement, by a server of its own ----

    def run(self, who, load, flags=(), context=None):
        """(what the users got, the server's last /state, its command)."""
        bodies = self.loads[load]
        longest = max(len(b["prompt"]) + b["max_tokens"] for user in bodies for b in user)
        context = context or (longest + 255) // 256 * 256
        last_after = self.sizes.arrives_after if load == "arrival" else 0
        with who.start(self.model, context, flags) as server:
            before_s = server.processor_s()
            got = checked(run_users(server.port, "/v1/completions", bodies, last_after),
                          {b["max_tokens"] for user in bodies for b in user})  # fmt: skip
            got.processor_s = server.processor_s() - before_s
            state = server.state() if who is self.cairn else None
            command = server.command
        time.sleep(SETTLE_S)
        return got, state, command

    def solo(self, load):
        """The texts of the same requests, each asked alone and sharing nothing."""
        texts = []
        with self.cairn.start(self.model, self.sizes.context) as server:
            for index, user in enumerate(self.loads[load]):
                bodies = [body | {"cache_salt": f"solo {index} {turn}"} for turn, body in enumerate(user)]
                texts.append([ask(server.port, "/v1/completions", body).text for body in bodies])
        return texts

    # ---- Beside llama-server ----

    def best_setting(self, load, value):
        """(llama-server's best flags, every tried setting with its value)."""
        tried = []
        settings = serve_rows.QUICK_PEER_SETTINGS if self.options.quick else serve_rows.PEER_SETTINGS
        for flags in settings[load]:
            entry = {"flags": " ".join(flags)}
            try:
                entry["value"] = value(self.run(self.llama, load, flags)[0])
            except (WrongAnswer, peers.fetch.Failure) as problem:
                entry["unable"] = str(problem)
            tried.append(entry)
            self.say(f"{self.model_name}, {load}: llama-server {entry}")
        able = [entry for entry in tried if "value" in entry]
        if not able:
            raise peers.fetch.Failure(f"llama-server managed {load} with no setting: {tried}")
        return tuple(min(able, key=lambda entry: entry["value"])["flags"].split()), tried

    def in_turns(self, load, value):
        """Both, round after round. `value` of what users got: less is better."""
        machine = results.machine()
        flags, tried = self.best_setting(load, value) if self.llama else ((), [])
        solo = self.solo(load)
        ours, theirs, wrong, commands, states = [], [], 0, {}, []
        for _ in range(self.options.rounds):
            got, state, commands["cairn"] = self.run(self.cairn, load)
            wrong += sum(answer.text != text for user, texts in zip(got.answers, solo) for answer, text in zip(user, texts))
            ours.append(got)
            states.append(state)
            if not self.llama:
                self.say(f"{self.model_name}, {load}: cairn {value(got):.4g}")
                continue
            got, _, commands["llama-server"] = self.run(self.llama, load, flags)
            theirs.append(got)
            self.say(f"{self.model_name}, {load}: cairn {value(ours[-1]):.4g}, llama-server {value(got):.4g}")
        about = {"machine": machine, "commands": {who: " ".join(command) for who, command in commands.items()},
                 "wrong_answers": wrong, "client_share": max(load.client_share for load in [*ours, *theirs]),
                 "processor_s": {who: statistics.median(load.processor_s for load in loads)
                                 for who, loads in (("cairn", ours), ("llama-server", theirs)) if loads}}  # fmt: skip
        if self.llama:
            about["peer"] = {"who": "llama-server", "flags": " ".join(flags), "tried": tried}
        return ours, theirs, states, about

    def compared(self, row, ours, theirs, about):
        """A row whose value is the ratio of two medians."""
        value = statistics.median(ours) / statistics.median(theirs)
        peer = about["peer"] | results.summary(theirs)
        return self.result(row, value, about | {"ours": results.summary(ours), "peer": peer})

    def result(self, row, value, about):
        right = about.get("wrong_answers", 0) == 0
        return {"name": f"{self.model_name} {row.name}", "key": row.key, "model": self.model.name, "value": value,
                "unit": row.unit, "target": row.target, "better": row.better, "met": bool(row.met(value) and right),
                "threads": self.options.threads, "versions": self.options.versions,
                "measured_at": time.strftime("%Y-%m-%d %H:%M", time.gmtime()), **about}  # fmt: skip

    # ---- The rows ----

    def shared(self, row):
        seconds = lambda load: load.seconds  # noqa: E731
        ours, theirs, states, about = self.in_turns("shared", seconds)
        rows = [self.compared(row["shared"], [load.seconds for load in ours], [load.seconds for load in theirs], about)]
        expected = self.state_of_one_and_own()
        ratios = [state["occupancy"]["live_max_bytes"] / expected for state in states]
        rows.append(self.result(row["shared bytes"], statistics.median(ratios),
                                about | {"ours": results.summary(ratios), "peer": None, "one_and_own_bytes": expected}))  # fmt: skip
        return rows + self.beside_openvino(row["shared openvino"], "shared", [load.seconds for load in ours], about)

    def state_of_one_and_own(self):
        """Bytes of the system prompt alone, and of so many tokens as each user has of its own."""
        own = self.sizes.question + self.sizes.answer
        with self.cairn.start(self.model, self.sizes.context) as server:
            kept = []
            for ids in (self.loads["shared"][0][0]["prompt"][: self.sizes.system], self.returning[1 : own + 1]):
                checked_answer = ask(server.port, "/v1/completions", serve_loads.completion(ids, 0, stream=False))
                if checked_answer.status != 200:
                    raise WrongAnswer(checked_answer.error)
                kept.append(server.state()["occupancy"]["live_bytes"])
        return kept[0] + self.sizes.users * (kept[1] - kept[0])

    def short(self, row):
        seconds = lambda load: load.seconds  # noqa: E731
        ours, theirs, _, about = self.in_turns("short", seconds)
        bodies = [body for user in self.loads["short"] for body in user]
        tokens = sum(len(body["prompt"]) + body["max_tokens"] for body in bodies)
        speeds = [[tokens / load.seconds for load in side] for side in (ours, theirs)]
        rows = [self.compared(row["short"], *speeds, about)]
        return rows + self.beside_openvino(row["short openvino"], "short", speeds[0], about, tokens)

    def beside_openvino(self, row, load, ours, about, tokens=None):
        """In process, each turn of all users at once; a process of its own for every sample."""
        if not self.openvino or self.model_name != "smollm2":
            return []
        turns = list(zip(*self.loads[load]))
        samples = []
        for _ in range(self.options.rounds):
            command = self.openvino.serve_command(self.model, self.options.threads, OPENVINO_CACHE_GIB)
            with Worker(command) as worker:
                warm = [body["prompt"][::-1][:32] for body in turns[0][:1]]
                worker.ask(json.dumps({"prompts": warm, "answer": 4}))
                seconds = sum(worker.ask(json.dumps({"prompts": [body["prompt"] for body in turn],
                                                     "answer": turn[0]["max_tokens"]}))["seconds"] for turn in turns)  # fmt: skip
            samples.append(tokens / seconds if tokens else seconds)
        peer = {"who": str(self.openvino)}
        return [self.compared(row, ours, samples, about | {"peer": peer})]

    def arrival(self, row):
        ours, theirs, _, about = self.in_turns("arrival", worst_gap_ratio)
        ratios = [worst_gap_ratio(load) for load in ours]
        if theirs:
            about["peer"] |= results.summary([worst_gap_ratio(load) for load in theirs])
        for who, loads in (("ours", ours), ("peer", theirs)):
            if not loads:
                continue
            about.setdefault(who, {}).update({
                "median_gap_ms": statistics.median(gaps_ms(load)[1] for load in loads),
                "median_gap_before_ms": statistics.median(gaps_ms(load)[0] for load in loads),
                "worst_gap_ms": statistics.median(gaps_ms(load)[2] for load in loads),
                "p99_gap_ms": statistics.median(gaps_ms(load)[3] for load in loads),
                "first_token_of_arriving_s": statistics.median(load.answers[-1][0].first_token_s for load in loads)})  # fmt: skip
        return [self.result(row["arrival"], statistics.median(ratios), about | {"ours": about["ours"] | results.summary(ratios)})]

    def restart(self, row):
        """Of a conversation that comes back with a question: in a new process over the same disk, and over an empty one."""
        machine, cold, warm, wrong, about = results.machine(), [], [], 0, {}
        first = serve_loads.completion(self.returning, self.sizes.answer)
        back = serve_loads.completion(self.returning + self.back, self.sizes.answer)
        asked = lambda server, body: checked_one(ask(server.port, "/v1/completions", body), self.sizes.answer)  # noqa: E731
        for _ in range(self.options.rounds):
            with tempfile.TemporaryDirectory(dir=self.options.disk) as scratch:
                tier = ("--disk-tier", pathlib.Path(scratch) / "tier")
                with self.cairn.start(self.model, self.sizes.context, tier) as server:
                    asked(server, first)
                with self.cairn.start(self.model, self.sizes.context, tier) as server:
                    again = asked(server, back)
                    about = {"start_s": server.start_s, "cached": again.cached, "commands": {"cairn": " ".join(server.command)}}
                with self.cairn.start(self.model, self.sizes.context) as server:
                    alone = asked(server, back)
            wrong += alone.text != again.text
            warm.append(again.first_token_s)
            cold.append(alone.first_token_s)
            self.say(f"{self.model_name}, restart: cold {cold[-1]:.3f} s, warm {warm[-1]:.3f} s, {again.cached} tokens cached")
        return [self.result(row["restart"], statistics.median(cold) / statistics.median(warm), about | {
            "machine": machine, "wrong_answers": wrong, "ours": results.summary(warm), "cold": results.summary(cold)})]  # fmt: skip


def checked_one(answer, tokens):
    if answer.status != 200 or answer.error or answer.usage.get("completion_tokens") != tokens:
        raise WrongAnswer(f"status {answer.status}: {answer.error or answer.usage}")
    return answer


def gaps_ms(load):
    """The streams' median gap before the prompt arrived, their median gap of all, the worst, and the 99th percentile."""
    arrived = load.answers[-1][0].sent_s
    if arrived > min(user[0].end_s for user in load.answers[:-1]):
        raise WrongAnswer("the prompt came when a stream had ended already")
    streams = [user[0] for user in load.answers[:-1]]
    before = [1e3 * gap for stream in streams for at, gap in zip(stream.token_times[1:], stream.gaps) if at < arrived]
    every = [1e3 * gap for stream in streams for gap in stream.gaps]
    return statistics.median(before) if before else 0.0, statistics.median(every), max(every), percentile_99(every)


def percentile_99(values):
    return sorted(values)[(len(values) * 99) // 100]


def worst_gap_ratio(load):
    _, median, worst, _ = gaps_ms(load)
    return worst / median if median else float("inf")
