"""Records of SGLang, llama.cpp and tools that print one number of a cache."""

import re

import log_models
from log_start import Outcome, Start, Unanswerable, interval, known_model


def sglang_start(folder, record):
    """(model, settings, whether the shape is the model's own)"""
    check, given = record["check"], record["given"]
    spelling, size = log_models.kv_type(record)
    settings = {"kv_dtype": spelling, "tp": (record.get("parallelism") or {}).get("tp") or 1}
    if record.get("block_size"):
        settings["page_size"] = record["block_size"]
    if "tokens" in given:
        settings["tokens"] = given["tokens"]
    if re.search(r"bf16 ssm|bf16 state", str(record["model"]) + str(record.get("fitted_parameters"))):
        settings["ssm_dtype"] = "bf16"
    if re.search(r"EAGLE|MTP", str(record["model"])):
        settings["mtp_layers"] = 1
    if name := known_model(folder, log_models.names_of(record)):
        return name, settings, True
    if "k_bytes_per_token" in check:
        elements = 2 * check["k_bytes_per_token"] / size
        layers = next(n for n in (32, 28, 24, 16, 12, 8, 6, 4, 3, 2, 1) if elements % (n * 256) == 0)
        return log_models.dense(layers, elements / layers, settings["tp"]), settings, False
    for row in (576 * size, 656):
        if size and check.get("bytes_per_token", 0) % (row + 132) == 0 and check.get("bytes_per_token"):
            layers = check["bytes_per_token"] // (row + 132)
            return log_models.latent(layers, layers), settings, False
    if "bytes_per_token" in check:
        return log_models.latent_of_bytes(check["bytes_per_token"]), settings | {"kv_dtype": "fp8_raw"}, False
    raise Unanswerable("the model isn't in the catalogue, and the record tells no bytes per token")


def slots_of(start, wanted, outcome):
    """A count of state slots that prints both sizes of the state pool."""
    allowed = (0, 1 << 20)
    for key in ("ssm_state_GB", "conv_state_GB"):
        if key in wanted:
            def answer(slots, key=key):
                return round(start.ask(mamba_slots=slots)[key], 2)

            allowed = interval(answer, wanted[key], allowed)
    sizes = ", ".join(f"{key} {wanted[key]}" for key in ("ssm_state_GB", "conv_state_GB") if key in wanted)
    if allowed[0] > allowed[1]:
        outcome.problems.append(f"no number of state slots prints {sizes}")
    else:
        counts = f"{allowed[0]:,}" if allowed[0] == allowed[1] else f"{allowed[0]:,} to {allowed[1]:,}"
        outcome.predicted.append(f"{sizes} ({counts} slots)")


def check_sglang(folder, record):
    model, settings, own = sglang_start(folder, record)
    outcome = Outcome()
    outcome.profile = "sglang@" + (re.findall(r"\d+\.\d+(?:\.\d+)?", str(record["version"])) or ["0.5.23"])[0]
    start = Start(folder, model, outcome.profile, settings)
    wanted = {key: value for key, value in record["to_predict"].items() if value is not None}
    if "ssm_state_GB" in wanted:
        if not own:
            raise Unanswerable("the sizes of states need the model, which isn't in the catalogue")
        slots_of(start, wanted, outcome)
    answer = start.ask()
    for key, logged in wanted.items():
        name = {"draft_k_GB": "draft_k_size_GB", "draft_v_GB": "draft_v_size_GB"}.get(key, key)
        if key not in ("ssm_state_GB", "conv_state_GB"):
            whole = isinstance(logged, int)
            outcome.compare(key, logged, answer[name], 0 if whole else 2, cut=whole)
    return outcome


def delta_config(given, layers):
    """A delta rule with as many state elements and channels of the convolution."""
    for width in (128, 64, 256, 32):
        values = given["state_elems"] // (width * width)
        keys, rest = divmod(given["conv_dim"] - values * width, 2 * width)
        if values * width * width == given["state_elems"] and keys > 0 and rest == 0:
            return {**log_models.FRAME, "model_type": "qwen3_5_text", "num_hidden_layers": layers + 1,
                    "num_key_value_heads": 1, "head_dim": 256, "linear_num_key_heads": keys,
                    "linear_num_value_heads": values, "linear_key_head_dim": width, "linear_value_head_dim": width,
                    "linear_conv_kernel_dim": given["conv_kernel"],
                    "layer_types": log_models.types_of(1, layers, "linear_attention")}  # fmt: skip
    raise Unanswerable("no known state of these sizes")


def check_llama_cpp(folder, record):
    given, options = record["given"], record["settings"]
    settings = {"seqs": options.get("seqs", 1), "state_copies": options.get("state_copies", 1),
                "streams": options.get("streams", 1)}  # fmt: skip
    if "state_elems" in given:
        config = delta_config(given, next(value for key, value in given.items() if key.endswith("_layers")))
    elif "layers_with_kv" in given:
        settings["cells"] = given["cells"]
        if types := re.match(r"K (\w+) / V (\w+)", str(record.get("kv_dtype"))):
            settings |= {"type_k": types.group(1), "type_v": types.group(2)}
        layers, keys, values = (given[key] for key in ("layers_with_kv", "n_embd_k_gqa", "n_embd_v_gqa"))
        config = log_models.rows_of(layers, keys, values)
    else:
        raise Unanswerable("the record tells no shape of the model")
    outcome = Outcome()
    outcome.profile = "llama.cpp@" + (re.findall(r"b\d+", str(record["version"])) or ["b8247"])[0]
    answer = Start(folder, config, outcome.profile, settings).ask()
    for key, logged in record["to_predict"].items():
        if logged is not None:
            outcome.compare(key, logged, answer[key])
    return outcome


def check_lmcache(folder, record):
    spelling, size = log_models.kv_type(record)
    arch, settings = record["arch"], {"kv_dtype": spelling}
    if "kv_heads_per_rank" in arch:
        config = log_models.dense(arch["layers"], arch["kv_heads_per_rank"] * arch["kv_dims_per_head"])
    elif config := known_model(folder, log_models.names_of(record)):
        settings["tp"] = (record.get("parallelism") or {}).get("tp") or 1
    elif found := re.search(r"(\d+)\*576\*2", " ".join(record["check"])):
        config = log_models.latent(int(found.group(1)))
    else:
        raise Unanswerable("the model isn't in the catalogue")
    outcome = Outcome()
    outcome.profile = "lmcache@0.5.6"
    answer = Start(folder, config, outcome.profile, settings).ask()
    for key, logged in record["to_predict"].items():
        outcome.compare(key, logged, answer[key], 0)
    return outcome


def check_openvino(folder, record):
    if not (model := known_model(folder, log_models.names_of(record))):
        raise Unanswerable("the model isn't in the catalogue")
    outcome = Outcome()
    outcome.profile = "openvino-genai@2026.3"
    start = Start(folder, model, outcome.profile, {})
    for key, logged in record["to_predict"].items():
        if prompt := re.fullmatch(r"la_state_GiB_for_(\d+)k_prompt", key):
            outcome.compare(key, logged, start.ask(max_model_len=1000 * int(prompt.group(1)))["la_state_GiB"], 0)
        else:
            outcome.compare(key, logged, start.ask()[key], 0)
    return outcome


def check_ratio(folder, record, outcome):
    """'capacity_ratio_nvfp4_over_fp8': bytes of a block in one type over the other."""
    first, second = re.fullmatch(r"capacity_ratio_(\w+)_over_(\w+)", *record["to_predict"]).groups()
    start = Start(folder, log_models.dense(1, 4096), "vllm@0.33.0", {})
    ratio = start.ask(kv_dtype=second)["bytes_per_block"] / start.ask(kv_dtype=first)["bytes_per_block"]
    outcome.profile = "vllm@0.33.0"
    for key, logged in record["to_predict"].items():
        outcome.compare(key, logged, ratio, 3, cut=True)
    return outcome


OTHERS = {"sglang": check_sglang, "llama.cpp": check_llama_cpp, "lmcache": check_lmcache,
          "openvino-genai": check_openvino}  # fmt: skip
