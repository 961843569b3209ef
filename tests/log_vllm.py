"""Records of vLLM: each printed number must follow from a count of blocks that the printed GiB allow."""

import math
import re

import log_models
from log_start import Outcome, Start, Unanswerable, first_at_least, interval, meet

GIB = 1 << 30
MOST_BLOCKS = 1 << 36
BLOCK_KEYS = {"kv_tokens", "max_concurrency", "num_blocks"}
# One of each formula, tried when a record doesn't state its version.
ANY_VLLM = ("0.33", "0.24", "0.20", "0.9", "0.6")


def versions(text):
    """Version names worth asking for: those stated, and development builds before a release without a patch."""
    found = []
    if wide := re.search(r"\b0\.(\d)x", text):
        return [f"0.{wide.group(1)}{minor}" for minor in (0, 4, 9)]
    stated = re.findall(r"\b\d+\.\d+(?:\.\d+)?(?:rc\d+|[.-]?dev)?", text)
    for version in stated:
        if version.startswith("0.1.dev"):
            continue
        found.append(version)
        if re.fullmatch(r"0\.\d+", version):
            found.append(version + "-dev")
    return found or list(ANY_VLLM)


def value_of(record, key):
    given = record["given"].get(key)
    return record["settings"].get(key) if given is None else given


def pool_bytes(record):
    """The bytes that the pool may have: exact, or a GiB give or take its rounding; None if the record has none."""
    if exact := value_of(record, "kv_cache_memory_bytes"):
        return exact, exact
    gib = record["given"].get("available_kv_gib_per_rank")
    if gib is None:
        return None
    return math.ceil((gib - 0.005) * GIB), math.floor((gib + 0.005) * GIB)


def stated_slack(verdict):
    """What a verdict says the pool is off by: 'within 0.2%', 'off by -0.08%'."""
    found = re.search(r"(\d+(?:\.\d+)?)%", verdict)
    return float(found.group(1)) / 100 if found else 0.0


def vllm_settings(record, spelling):
    settings = {"kv_dtype": spelling}
    parallel = record.get("parallelism") or {}
    for key in ("tp", "pp", "dcp"):
        if parallel.get(key):
            settings[key] = parallel[key]
    if "layer_partition" in parallel:
        settings["stage_layers"] = parallel["layer_partition"]
    for key in ("max_model_len", "max_num_batched_tokens", "max_num_seqs", "num_speculative_tokens",
                "mamba_cache_mode", "block_size", "concurrent_batches"):  # fmt: skip
        if isinstance(value := value_of(record, key), int | str) and not isinstance(value, bool):
            settings[key] = value
    if dtype := record["settings"].get("mamba_ssm_cache_dtype"):
        settings["ssm_dtype"] = dtype
    return settings


def bucket_start(record, spelling, size):
    """Config and settings of a record whose layers are told in buckets."""
    arch, tp = record["arch"], (record.get("parallelism") or {}).get("tp") or 1
    settings = vllm_settings(record, spelling)
    buckets = {bucket["kind"]: bucket for bucket in arch["buckets"]}
    full = buckets["full"]
    mtp = full.get("mtp_layers", 0)
    if "mamba" in buckets:
        settings["mtp_layers"] = mtp
        state, row = buckets["mamba"], full["per_token_bytes_per_layer"]
        drafted = settings.get("num_speculative_tokens", 0)
        layers = full["n"] - mtp
        config = None
        if row in (576, 656, 1152):
            config = log_models.latent_hybrid(layers, state["n"], state["state_bytes_unpadded"] * tp, 3 + drafted)
        return config or log_models.hybrid(layers, state["n"], row / size, state["state_bytes_unpadded"], drafted, tp,
                                           record["id"].startswith("m")), settings  # fmt: skip
    block = record.get("block_size") or 16
    rows = [buckets[kind].get("unpadded_page", buckets[kind]["page"]) / block / size for kind in ("full", "swa")]
    sliding = buckets["swa"]
    return log_models.windowed(full["n"] - mtp, sliding["n"], sliding["window"], *rows, tp), settings


def rows_start(arch, record, settings):
    """A config of layers that keep rows only; None where they are told in no known way."""
    if arch.get("kv_dims_per_head") == 576 or "MLA" in str(record.get("kv_dtype")):
        return log_models.latent(arch["layers"])
    try:
        if "formula" in arch:
            return log_models.from_terms(arch["formula"])
    except ValueError:
        pass  # not latent rows
    if not arch.get("layers") or "kv_heads_per_rank" not in arch:
        return None
    layers = arch["layers"]
    if settings.get("pp") and not settings.get("stage_layers"):
        layers *= settings["pp"]  # a stage's are told
    return log_models.dense(layers, arch["kv_heads_per_rank"] * arch["kv_dims_per_head"], settings.get("tp", 1))


def vllm_start(record):
    """(config, settings) of a record of vLLM."""
    arch, given = record["arch"], record["given"]
    spelling, size = log_models.kv_type(record)
    settings = vllm_settings(record, spelling)
    tp = settings.get("tp", 1)
    if "weights_gib" in given:
        settings = {key: value for key, value in given.items() if key.endswith("_gib")}
        settings = {key.replace("peak_", ""): value for key, value in settings.items()}
        settings["gpu_memory_utilization"] = record["settings"]["gpu_memory_utilization"]
        settings["total_gib"] = float(re.search(r"total ([\d.]+) GiB", record["hardware"]).group(1))
        return log_models.dense(1, 256), settings
    if "state_bytes_per_layer" in given:
        row, state = given["attn_bytes_per_token_per_layer"], given["state_bytes_per_layer"]
        settings["kernel_block"] = given["kernel_alignment_tokens"]
        config = None
        if row in (576, 656, 1152):
            config = log_models.latent_hybrid(1, 3, state * tp, 3)
        drafted = re.search(r"MTP\((\d+)\)", str(record["model"]))
        settings["num_speculative_tokens"] = drafted = int(drafted.group(1)) if drafted else 0
        settings.pop("block_size", None)
        return config or log_models.hybrid(1, 3, row / size, state, drafted, tp, False), settings
    if "buckets" in arch:
        return bucket_start(record, spelling, size)
    if "pages" in arch:
        settings.pop("kv_dtype")
        return log_models.compressed(arch["layers"], arch["pages"]), settings
    if record.get("block_size"):
        settings["block_size"] = record["block_size"]
    if config := rows_start(arch, record, settings):
        return config, settings
    if arch.get("bpt", 1) == 1 and "bpt" in arch:
        return log_models.dense(1, 256), settings
    if (total := arch.get("bpt") or record["check"].get("bytes_per_token_arch")) and total % 8 == 0:
        return log_models.of_bytes(total), settings | {"kv_dtype": "auto"}
    raise Unanswerable("the record tells no shape of the model")


def blocks_of(start, record, outcome):
    """Intersects the block counts that each printed number allows."""
    wanted = {key: value for key, value in record["to_predict"].items() if value is not None}
    lengths = value_of(record, "max_model_len")
    allowed, fits = (0, MOST_BLOCKS), None
    if (pool := pool_bytes(record)) is not None:
        fits = tuple(start.ask(available_kv_bytes=size)["num_blocks"] for size in pool)
        allowed = int(fits[0] * 0.95) - 8, int(fits[1] * 1.05) + 8
        allowed = max(allowed[0], 0), allowed[1]
    for key, value in wanted.items():
        values = value if isinstance(value, list) else [value]
        for at, logged in enumerate(values):
            more = {"max_model_len": lengths[at]} if isinstance(lengths, list) else {}

            def answer(blocks, key=key, more=more):
                found = start.ask(num_blocks=blocks, **more).get(key)
                if found is None:
                    raise Unanswerable(f"no {key} without more settings")
                return round(found, 2)

            if key in ("kv_tokens", "max_concurrency"):
                allowed = interval(answer, logged, allowed)
            elif key == "num_blocks":
                allowed = meet(allowed, (logged, logged))
            if allowed[0] > allowed[1]:
                break
    if allowed[0] > allowed[1]:
        outcome.problems.append("no number of blocks prints " + ", ".join(f"{k} {v}" for k, v in wanted.items()))
        return
    if fits is not None:
        met = meet(allowed, fits)
        if met[0] > met[1]:
            nearest = fits[0] if allowed[1] < fits[0] else fits[1]
            outcome.slack = (allowed[1] if allowed[1] < fits[0] else allowed[0]) / nearest - 1
            slack = stated_slack(record["verdict"]) + 5e-4
            if abs(outcome.slack) > slack:
                outcome.problems.append(f"{allowed[0]} to {allowed[1]} blocks print this, the GiB give {fits[0]} to "
                                        f"{fits[1]} ({100 * outcome.slack:+.2f}%)")  # fmt: skip
        allowed = met if met[0] <= met[1] else allowed
    more = {"max_model_len": lengths[0]} if isinstance(lengths, list) else {}
    shown = start.ask(num_blocks=allowed[0], **more)
    if BLOCK_KEYS & set(wanted):
        counts = f"{allowed[0]:,}" if allowed[0] == allowed[1] else f"{allowed[0]:,} to {allowed[1]:,}"
        text = f"{shown['kv_tokens']:,} tokens" if "kv_tokens" in shown else ""
        if "max_concurrency" in shown:
            text += f", {shown['max_concurrency']:.2f}x"
        outcome.predicted.append(f"{text} ({counts} blocks of {shown['bytes_per_block']:,} bytes)")


def check_vllm(start, record, outcome):
    wanted = {key: value for key, value in record["to_predict"].items() if value is not None}
    pool = pool_bytes(record)
    if BLOCK_KEYS & set(wanted):
        blocks_of(start, record, outcome)
    for key, logged in wanted.items():
        if found := re.fullmatch(r"needed_gib(?:_for_(\d+))?", key):
            more = {"max_model_len": int(found.group(1))} if found.group(1) else {}
            outcome.compare(key, logged, start.ask(**more)["needed_gib"])
        elif key == "estimated_max_model_len":
            def estimate(size):
                return start.ask(available_kv_bytes=size)[key]

            low, high = estimate(pool[0]), estimate(pool[1])
            size = first_at_least(estimate, logged, *pool)
            outcome.predicted.append(f"{key} {low:,} to {high:,}")
            if size > pool[1] or estimate(size) != logged:
                outcome.problems.append(f"{key} is {low} to {high}, printed {logged}")
        elif key == "available_kv_gib":
            found = start.ask()[key]
            outcome.predicted.append(f"{key} {found:.3f}")
            # Four rounded numbers go in, one comes out.
            if abs(found - logged) > 0.005 * 5:
                outcome.problems.append(f"{key} is {found:.3f}, printed {logged}")
        elif key == "mamba_pad_pct":
            outcome.compare(key, logged, start.ask()[key])
        elif key not in BLOCK_KEYS:
            found = start.ask().get(key)
            if found is None:
                raise Unanswerable(f"{key} is no number of this framework's start")
            outcome.compare(key, logged, found, 0)


def try_versions(folder, record):
    """The first of the record's possible versions that prints it; else what the first one says."""
    config, settings = vllm_start(record)
    first = None
    for version in versions(str(record["version"])):
        outcome = Outcome()
        outcome.profile = f"vllm@{version}"
        try:
            check_vllm(Start(folder, config, outcome.profile, settings), record, outcome)
        except Unanswerable as problem:
            outcome.problems.append(str(problem))
        if not outcome.problems:
            return outcome
        first = first or outcome
    return first
