"""What bench/serve measures: the rows with their targets, the sizes of their loads, and the settings that llama-server
may choose from. Data only."""

import dataclasses

MODELS = {"smollm2": "SmolLM2-135M-Instruct.Q4_1.gguf", "gemma3": "gemma-3-270m-q4_k_m.gguf"}


@dataclasses.dataclass(frozen=True)
class Row:
    key: str
    name: str
    unit: str
    target: float | None  # None: reported only
    better: str = "lower"

    def met(self, value):
        if self.target is None:
            return True
        return value <= self.target if self.better == "lower" else value >= self.target


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Tokens and users of the loads."""

    users: int = 8
    system: int = 4096
    question: int = 64
    answer: int = 64
    short_users: int = 32
    short_requests: int = 2  # of each user, one after another
    streams: int = 4
    stream_answer: int = 640
    arriving: int = 6000
    arrives_after: int = 64  # tokens of each stream
    returning: int = 6000
    sessions: int = 5
    context: int = 8192


QUICK = Sizes(system=512, users=3, short_users=4, short_requests=1, stream_answer=200, arriving=600, arrives_after=16,
              returning=600, sessions=1)  # fmt: skip
FULL = Sizes()


def rows_of(sizes):
    return [
        Row("shared", f"{sizes.users} users, one system prompt of {sizes.system:,}: total time", "x llama-server's", 0.25),
        Row("shared bytes", f"{sizes.users} users, one system prompt of {sizes.system:,}: state", "x one context and own", 1.2),
        Row("shared openvino", f"{sizes.users} users, one system prompt of {sizes.system:,}: total time, OpenVINO",
            "x OpenVINO's", None),
        Row("arrival", f"{sizes.arriving:,} tokens arrive among {sizes.streams} streams: worst gap", "x the median gap", 2),
        Row("short", f"{sizes.short_users} short users: tokens/s", "x llama-server's", 1.5, "higher"),
        Row("short openvino", f"{sizes.short_users} short users: tokens/s, OpenVINO", "x OpenVINO's", None, "higher"),
        Row("restart", f"restart: first token of {sizes.returning:,} tokens that return", "x sooner than cold", 10, "higher"),
        Row("trace", f"{sizes.sessions} agents' sessions: cached tokens, all fits", "of the replay's", 0.01),
        Row("trace bound", f"{sizes.sessions} agents' sessions: cached tokens, a third fits", "of the replay's", 0.01),
    ]  # fmt: skip


# Each is tried once, and the best of them is measured beside Cairn. The server's own defaults otherwise: continuous
# batching, prompt cache in memory, flash attention where it can, keys and values in f16.
PEER_SETTINGS = {
    "shared": [
        ("-np", "1"),
        ("-np", "1", "-fa", "off"),
        ("-np", "2"),
        ("-np", "4", "-kvu"),
        ("-np", "8"),
        ("-np", "8", "-kvu", "--cache-reuse", "64", "-sps", "0.5"),
    ],
    "short": [
        ("-np", "32"),
        ("-np", "32", "-kvu"),
        ("-np", "32", "-fa", "off"),
        ("-np", "16"),
        ("-np", "8"),
        ("-np", "4", "-kvu"),
    ],
    # Small batches are how it bounds what a prompt makes others wait.
    "arrival": [
        ("-np", "5"),
        ("-np", "5", "-kvu"),
        ("-np", "5", "-b", "512"),
        ("-np", "5", "-b", "64", "-ub", "64"),
        ("-np", "5", "-b", "32", "-ub", "32"),
    ],
}
QUICK_PEER_SETTINGS = {key: settings[:2] for key, settings in PEER_SETTINGS.items()}
