"""What bench/serve_soak sees of the server from outside while it runs: its memory, and whether /state adds up."""

import http.client
import statistics
import time

LOOK_EVERY_S = 0.5
IDLE_LIMIT_S = 30
MOST_POINTS = 400


def inconsistencies(state):
    """What in one answer of GET /state contradicts itself."""
    occupancy, use, hits, engine = (state[part] for part in ("occupancy", "bytes_by_use", "hits", "engine"))
    live = occupancy["live_bytes"]
    ended = sum(engine[how] for how in ("finished", "failed", "cancelled"))
    wrong = []
    if live != sum(each["live_bytes"] for each in occupancy["classes"]):
        wrong.append(f"{live} live bytes aren't the classes' sum")
    if not 0 <= live <= occupancy["budget_bytes"]:
        wrong.append(f"{live} live bytes of {occupancy['budget_bytes']}")
    if use is not None and sum(use.values()) != live:
        wrong.append(f"{live} live bytes aren't the sum of {use}")
    if hits["tokens_from_memory"] + hits["tokens_loaded"] > hits["tokens_asked"]:
        wrong.append(f"more found than asked for: {hits}")
    if ended > engine["submitted"]:
        wrong.append(f"{ended} requests ended of {engine['submitted']}")
    if engine["failed"]:
        wrong.append(f"{engine['failed']} requests failed in the engine")
    return wrong


def at_rest(state):
    """What an idle server still holds, and shouldn't."""
    engine, use = state["engine"], state["bytes_by_use"]
    wrong = [f"{engine[what]} {what} at rest" for what in ("running", "waiting") if engine[what]]
    if use and (use["running"] or use["in_use"]):
        wrong.append(f"bytes are in use at rest: {use}")
    ended = sum(engine[how] for how in ("finished", "failed", "cancelled"))
    if ended != engine["submitted"]:
        wrong.append(f"{ended} requests ended of {engine['submitted']} at rest")
    return wrong


def slope_per_minute(samples):
    """The median slope between all pairs of (seconds, value): single spikes don't move it."""
    points = samples[:: max(1, len(samples) // MOST_POINTS)]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for i, a in enumerate(points) for b in points[i + 1 :] if b[0] > a[0]]
    return 60 * statistics.median(slopes)


class Watch:
    """Looks every half second. Counters of processes that are gone are added up."""

    COUNTERS = {"preemptions": ("engine", "preemptions"), "evictions": ("tree", "evictions"), "loads": ("loads", "done"),
                "loads_failed": ("loads", "failed"), "writes": ("writes", "done"), "write_failed": ("writes", "failed"),
                "cancelled": ("engine", "cancelled"), "finished": ("engine", "finished"), "refused": ("engine", "refused")}  # fmt: skip

    def __init__(self, soak):
        self.soak = soak
        self.memory = []  # (time, resident bytes)
        self.looks = self.inconsistent = 0
        self._last, self._gone = None, dict.fromkeys(self.COUNTERS, 0)

    def run(self):
        while not self.soak.over.wait(LOOK_EVERY_S):
            self.look()

    def look(self):
        since = time.perf_counter()
        try:
            state, resident = self.soak.server.state(), self.soak.server.resident_bytes()
        except (OSError, ValueError, http.client.HTTPException) as error:
            if not self.soak.excused(since, time.perf_counter()):
                self.soak.count("unexpected")
                self.soak.problem(f"/state: {type(error).__name__}: {error}")
            return None
        if self.soak.excused(since, time.perf_counter()):
            return None
        self.memory.append((time.perf_counter(), resident))
        self._note(inconsistencies(state))
        self._last = state
        return state

    def _note(self, wrong):
        self.looks += 1
        self.inconsistent += bool(wrong)
        for what in wrong:
            self.soak.problem(f"/state: {what}")

    def before_restart(self):
        self.look()
        self._gone = self.totals()
        self._last = None

    def at_rest(self):
        """Once nobody asks any more."""
        until = time.monotonic() + IDLE_LIMIT_S
        while (state := self.look()) and at_rest(state) and time.monotonic() < until:
            time.sleep(LOOK_EVERY_S)
        self._note(at_rest(state) if state else ["no answer at rest"])

    def totals(self):
        now = {name: self._last[part][key] if self._last else 0 for name, (part, key) in self.COUNTERS.items()}
        return {name: self._gone[name] + now[name] for name in now}
