"""Measures rows in groups: all contestants of one model at one test take turns, round after round, so that
a drift of the machine hits them alike."""

import dataclasses
import itertools
import os
import time

import peers
import versus_results as results
import workers
from versus_rows import (
    BATCH_DEPTH,
    CAIRN,
    FIRST_TOKEN_PROMPT,
    LLAMACPP,
    MEMORY_CONTEXT,
    MODELS,
    OPENVINO,
    OPENVINO_MODELS,
    Contestant,
)

SLOW_SAMPLE_S = 20  # a contestant whose samples take longer sits out all but the first SLOW_ROUNDS rounds
SLOW_ROUNDS = 3
CHOICE_ROUNDS = 2
# llama.cpp's threads spin for a tenth of a second after their last work; nobody is measured beside them.
SETTLE_S = 0.4


class Measurer:
    """Starts contestants when they are needed and keeps them alive until the model or threads change."""

    def __init__(self, cairn, llamacpp, say, rounds, depths=None, openvino=None):
        self.cairn, self.llamacpp, self.say, self.rounds = cairn, llamacpp, say, rounds
        self.openvino = openvino  # None: without the second column
        self._depths = depths  # the depths that Cairn's processes make room for; by default the model's
        self._live = workers.Workers()
        self._model = None
        self._choices = {}  # (test, contestant): the better -fa and the speed of both

    def close(self):
        self._live.close_all()

    def group(self, rows):
        """The results of rows of one model and one test."""
        model, test = rows[0].model, rows[0].test
        if self._model != (model, rows[0].ours.threads):
            self.close()
            self._choices.clear()
            self._model = (model, rows[0].ours.threads)
        machine = results.machine()
        contestants = list(dict.fromkeys(side for row in rows for side in (row.peer, row.ours)))
        for side in contestants:
            self._prepare(model, test, side)
        column, second = self._second_column(model, test, rows[0])
        samples = self._rounds(model, test, contestants + column)
        if column:
            second = {"openvino": results.summary(samples[column[0]])}
        return [self._result(row, samples, machine) | second for row in rows]

    def _second_column(self, model, test, row):
        """The contestant beside the target's own, if there is one, else what the row says of it."""
        empty = test.kind == "speed" and not test.depth and test.sequences == 1
        if not (self.openvino and model in OPENVINO_MODELS and empty and not row.ours.burners):
            return [], {}
        side = Contestant(OPENVINO, row.ours.threads)
        try:
            self.openvino.ensure(self.say)
            self._sample(model, test, side, 0)
        except peers.fetch.Failure as failure:
            self.say(str(failure))
            return [], {"openvino": {"unable": str(failure)}}
        return [side], {}

    def fill(self, rows):
        """Has llama.cpp compute and keep the states that these rows start from."""
        for row in rows:
            if row.peer.engine == LLAMACPP and row.test.depth:
                self._fill(row.model, row.test, row.peer)
        self.close()

    def _rounds(self, model, test, contestants):
        samples = {side: [] for side in contestants}
        slow = set()
        for turn in range(self._rounds_of(test)):
            for side in contestants:
                if side in slow and turn >= SLOW_ROUNDS:
                    continue
                start = time.monotonic()
                samples[side].append(self._sample(model, test, side, self._flash_attn(test, side)))
                if time.monotonic() - start > SLOW_SAMPLE_S:
                    slow.add(side)
        return samples

    def _rounds_of(self, test):
        return min(self.rounds, 2) if test.kind == "memory" else self.rounds  # it hardly varies

    def _prepare(self, model, test, side):
        """Everything that isn't measured: processes, states at the depth, the better -fa, a warm page cache."""
        if side.engine != LLAMACPP:
            if test.kind == "speed" and test.depth:
                self._worker(model, test, side, 0).ask(f"depth {test.depth}" + self._sequences(test))
            return
        self._fill(model, test, side)
        if (test, side) in self._choices:
            return
        speeds = {}
        candidates = self._candidates(side)
        for turn, flash_attn in itertools.product(range(CHOICE_ROUNDS if len(candidates) > 1 else 0), candidates):
            value = self._sample(model, test, side, flash_attn)
            speeds[flash_attn] = max(speeds.get(flash_attn, value), value, key=self._goodness(test))
        best = max(speeds, key=lambda choice: self._goodness(test)(speeds[choice])) if speeds else candidates[0]
        self._choices[test, side] = (best, speeds)

    @staticmethod
    def _goodness(test):
        return (lambda value: value) if test.higher_is_better else (lambda value: -value)

    @staticmethod
    def _candidates(side):
        """llama.cpp keeps quantized values only with flash attention."""
        return (0, 1) if side.state in ("f16", "bf16", "f32") else (1,)

    def _fill(self, model, test, side):
        if not test.depth:
            return
        if side.state != "f16" and test.sequences == 1:  # re-encoded from it
            self._fill(model, test, dataclasses.replace(side, state="f16"))
        for flash_attn in self._candidates(side):
            self.say(f"{model}: llama.cpp's state of {test.depth} tokens, {side.state}, -fa {flash_attn}")
            worker = self._worker(model, test, side, flash_attn)
            worker.ask(f"depth {test.depth} threads {os.cpu_count() or 1}" + self._sequences(test))

    def _flash_attn(self, test, side):
        return self._choices[test, side][0] if side.engine == LLAMACPP else 0

    def _sample(self, model, test, side, flash_attn):
        time.sleep(SETTLE_S)
        if test.kind == "first":
            return self._first_token(model, side, flash_attn)
        if test.kind == "memory":
            return self._memory(model, test, side, flash_attn)
        worker = self._worker(model, test, side, flash_attn)
        with workers.burners(side.burners):
            return test.value_of(worker.ask(self._request(test, side))["ns"])

    def _request(self, test, side):
        return test.request + (f" threads {side.threads}" if side.engine == LLAMACPP else "")

    @staticmethod
    def _sequences(test):
        return f" sequences {test.sequences}" if test.sequences > 1 else ""

    def _first_token(self, model, side, flash_attn):
        if side.engine == CAIRN:
            return workers.seconds_to_first_byte(self._run_command(model, side))
        path = peers.ROOT / "models" / MODELS[model].file
        with workers.Worker(self.llamacpp.worker_command(path, side.state, flash_attn)) as worker:
            worker.ask(f"first {side.threads} {FIRST_TOKEN_PROMPT}")
            return time.perf_counter() - worker.started

    def _memory(self, model, test, side, flash_attn):
        with workers.Worker(self._command(model, test, side, flash_attn)) as worker:
            worker.ask(self._request(test, side))
            return worker.peak_bytes() / (1 << 20)

    def _worker(self, model, test, side, flash_attn):
        """Contestants with and without burners are one process; so are all llama.cpp's thread counts."""
        together = test.sequences if side.engine == CAIRN else 1
        threads = side.threads if side.engine != LLAMACPP else 0
        key = (model, side.engine, side.state, threads, together, flash_attn)
        return self._live.get(key, self._command(model, test, side, flash_attn))

    def _command(self, model, test, side, flash_attn):
        path = peers.ROOT / "models" / MODELS[model].file
        if side.engine == LLAMACPP:
            return self.llamacpp.worker_command(path, side.state, flash_attn)
        if side.engine == OPENVINO:
            return self.openvino.worker_command(path, side.threads)
        command = [self.cairn, "bench", "-m", path, "-t", side.threads, "-ctk", side.state, "-ctv", side.state]
        prompt, answer, depths = 512, 64, (0, *(self._depths or MODELS[model].depths))
        if test.sequences > 1:
            prompt, depths = 0, sorted({0, BATCH_DEPTH, test.depth})
        if test.kind == "memory":
            prompt, answer, depths = test.prompt, test.answer, (0,)
        command += ["--on-request", "-p", prompt, "-n", answer, "-d", ",".join(map(str, depths))]
        return [str(part) for part in command + ["--sequences", test.sequences]]

    def _run_command(self, model, side):
        path = peers.ROOT / "models" / MODELS[model].file
        return [self.cairn, "run", "-m", path, "-t", side.threads, "-c", MEMORY_CONTEXT, "-n", 1, "--temp", 0,
                "--ignore-eos", "-p", FIRST_TOKEN_PROMPT]  # fmt: skip

    def _commands(self, row):
        commands = {}
        for side in (row.ours, row.peer):
            command = self._command(row.model, row.test, side, self._flash_attn(row.test, side))
            request = self._request(row.test, side)
            if row.test.kind == "first":
                request = f"first {side.threads} {FIRST_TOKEN_PROMPT}"
                if side.engine == CAIRN:
                    command, request = self._run_command(row.model, side), ""
            text = " ".join(str(part) for part in command).replace(str(peers.ROOT) + "/", "")
            commands[str(side)] = text + (f" <<< '{request}'" if request else "")
        return commands

    def _result(self, row, samples, machine):
        about = {
            "machine": machine,
            "versions": {"cairn": results.cairn_version(), LLAMACPP: str(self.llamacpp), OPENVINO: str(self.openvino)},
            "commands": self._commands(row),
            "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        if row.peer.engine == LLAMACPP:
            best, speeds = self._choices[row.test, row.peer]
            about["flash_attn"] = best
            about["flash_attn_tried"] = speeds
        return results.row_result(row, samples[row.ours], samples[row.peer], about)
