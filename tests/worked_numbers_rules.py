"""The kinds of quantities in a worked-numbers file, each with how cairn size answers it.

A rule gets an Asked (worked_numbers.py) and returns an Answer, or None or an error of lookup or value when the entry
isn't of its kind. They are tried in the order of RULES.
"""

import re

from worked_numbers import BYTES, DTYPES, HEAD_COUNTS, Answer, evaluate, lengths_in, question_of, shape_text

FATES = ("kept", "passed_on", "residual", "dropped")
QUANTITIES = ("marginal_long_context", "inside_window", "per_token", "gib")


def keeps_rows(group):
    return group["k"] + group["v"] + group["latent"] > 0


def layer_counts(answer):
    """Layers of each sort: with recurrent states, with nothing, with rows."""
    counts = {"states": 0, "nothing": 0, "rows": 0}
    for group in answer["layers"]:
        sort = "rows" if keeps_rows(group) else "states" if group.get("states") else "nothing"
        counts[sort] += group["count"]
    return counts


def specs_of_counts(*counts):
    """Shapes whose bytes for a token are as the counts: of heads, or of elements where they are many."""
    if any(count != int(count) or count < 1 for count in counts):
        raise ValueError(counts)
    if max(counts) <= 512:
        return [shape_text({"layers": 1, "kv_heads": int(count), "head_dim": 128}) for count in counts]
    return [shape_text({"layers": 1, "latent": int(count)}) for count in counts]


def bytes_spec(amount, tokens=1):
    """A shape that keeps so many bytes for a token."""
    per_token = amount / tokens
    layers = next(n for n in range(1, 513) if per_token % (2 * n) == 0 and per_token / (2 * n) <= 1 << 22)
    return shape_text({"layers": layers, "latent": int(per_token / (2 * layers))})


# --- What doesn't grow, and figures of activations -------------------------------------------------------------


def recurrent_state(asked):
    if not (asked.asks_for_bytes() and "recurrent state" in asked.what and asked.model):
        return None
    return asked.amount(asked.size(asked.model)["state_bytes"], question_of(asked.model, 1, 1, asked.dtype))


def score_matrices(asked):
    if not asked.asks_for_bytes():
        return None
    tokens = asked.number("N") or asked.place.inputs.get("N")
    removed = "removed" in asked.what and "FlashAttention" in asked.what
    if not tokens or not ("N^2" in asked.formula or removed):
        return None
    heads = asked.number("heads", "H_q") or (asked.place.inputs.get("heads") if removed else None) or 1
    key = "score_matrix_bytes"
    if removed:
        key = "score_traffic_avoided_bytes"
    elif "traffic" in asked.what:
        key = "softmax_traffic_bytes" if "softmax" in asked.what else "score_traffic_bytes"
    spec = shape_text({"layers": 1, "kv_heads": heads, "head_dim": 128})
    activations = asked.size(spec, tokens)["activations"]
    return asked.amount(activations[key], question_of(spec, tokens, 1, asked.dtype, key))


def fates(asked):
    if not set(asked.inputs) >= set(FATES) or not asked.model:
        return None
    activations = asked.size(asked.model)["activations"]
    if any(activations[fate] != asked.inputs[fate] for fate in FATES):
        raise ValueError("fates")
    return Answer(sum(activations[fate] for fate in FATES), "program", question_of(asked.model, 1, 1, asked.dtype))


def activation_width(asked):
    heads, dim = asked.number("heads"), asked.number("dim")
    if asked.unit != "width" or not heads or not dim:
        return None
    spec = shape_text({"layers": 1, "kv_heads": heads, "head_dim": dim})
    for row in asked.size(spec)["activations"]["lifecycle"]:
        if row["name"] == asked.what:
            return Answer(row["width"], "program", question_of(spec, 1, 1, asked.dtype))
    return None


def projection(asked):
    """Elements of a projection: its output's width times that of the layer's input."""
    match = re.match(r"W_([QKV])\b", asked.what)
    if not match or asked.unit != "elements" or not asked.model:
        return None
    widths = {row["name"]: row["width"] for row in asked.size(asked.model)["activations"]["lifecycle"]}
    outputs = {"Q": "queries", "K": "keys", "V": "values"}
    how = question_of(asked.model, 1, 1, asked.dtype, "widths of activations")
    return Answer(widths[outputs[match.group(1)]] * widths["layer input"], "program", how)


# --- Bytes ---------------------------------------------------------------------------------------------------------


def table_of_sizes(asked):
    """A dict: by length, by structure, or by quantity."""
    if not isinstance(asked.exact, dict) or not asked.unit.startswith("bytes"):
        return None
    spec, keys = asked.spec(), list(asked.exact)
    values = {}
    for key in keys:
        if key.isdigit():
            values[key] = asked.kv_bytes(spec, int(key))
        elif re.fullmatch(r"(MHA|GQA|MQA|MLA)\d*", key):
            values[key] = asked.size(structure_spec(asked, key))["bytes_per_token"]
        elif key in QUANTITIES:
            tokens = (asked.tokens or 1) if key == "gib" else 1
            answer = asked.size(spec, tokens, asked.batch)
            values[key] = answer["kv_bytes"] if key in ("gib", "inside_window") else answer["bytes_per_token"]
            values[key] = values[key] / BYTES["GiB"] if key == "gib" else values[key]
        else:
            return None
    return Answer(values, "program", question_of(spec, asked.tokens or 1, asked.batch, asked.dtype))


def structure_spec(asked, structure):
    shape = asked.shape()
    kind, count = structure[:3], structure[3:]
    layers, dim = shape["layers"], shape["head_dim"]
    if kind == "MLA":
        return shape_text({"layers": layers, "latent": asked.place.shape["latent"]})
    heads = {"MHA": asked.place.shape.get("kv_heads", 0), "MQA": 1}.get(kind) or int(count)
    return shape_text({"layers": layers, "kv_heads": heads, "head_dim": dim})


def shared_prefix(asked):
    """Requests with and without a shared prefix, and the difference."""
    lengths = asked.place.lengths
    if not asked.asks_for_bytes() or set(lengths) < {"prefix", "suffix"} or not asked.model:
        return None
    tokens, prefix = lengths["prefix"] + lengths["suffix"], lengths["prefix"]
    batch = asked.number("B") or asked.place.inputs.get("B")
    flag = ("--shared-prefix", str(prefix))
    with_sharing = asked.kv_bytes(asked.model, tokens, batch, extra=flag)
    without = asked.kv_bytes(asked.model, tokens, batch)
    how = question_of(asked.model, tokens, batch, asked.dtype, *flag)
    if "saved" in asked.what:
        return asked.amount(without - with_sharing, how + " against without")
    if "without" in asked.what:
        return asked.amount(without, question_of(asked.model, tokens, batch, asked.dtype))
    return asked.amount(with_sharing, how) if "sharing" in asked.what else None


def requantised(asked):
    """A known amount in another form: 4,608 MiB at 4.5 bits an element."""
    if not asked.asks_for_bytes() or "bits_per_element" not in asked.inputs or not asked.place.tokens:
        return None
    spec, tokens = shape_text(asked.place.shape), asked.place.tokens
    return asked.amount(asked.kv_bytes(spec, tokens), question_of(spec, tokens, 1, asked.dtype))


def literal_per_token(asked):
    """ "144 KiB*T": what the section knows to take so much for a token."""
    match = re.fullmatch(r"([\d,.]+)(?: (KiB|MiB))?\*T", asked.formula)
    if not match or not asked.tokens or not asked.asks_for_bytes():
        return None
    per_token = float(match.group(1).replace(",", "")) * BYTES.get(match.group(2), 1)
    known = [*reversed(asked.place.specs), asked.model]
    for spec in [spec for spec in known if spec] + [bytes_spec(per_token)]:
        if asked.size(spec)["bytes_per_token"] == per_token:
            value = asked.kv_bytes(spec, asked.tokens, asked.batch)
            return asked.amount(value, question_of(spec, asked.tokens, asked.batch, asked.dtype))
    return None


def stated_per_token(asked):
    """per_token and T are given; a model is asked about if one is named that takes so much."""
    per_token = asked.number("per_token", "per_token_bytes")
    if not asked.asks_for_bytes() or not per_token or not asked.tokens:
        return None
    for spec in (asked.model, bytes_spec(per_token)):
        if spec and asked.size(spec)["bytes_per_token"] == per_token:
            value = asked.kv_bytes(spec, asked.tokens, asked.batch)
            return asked.amount(value, question_of(spec, asked.tokens, asked.batch, asked.dtype))
    return None


def calculator_run(asked):
    """One amount in two units."""
    if asked.unit != "GiB, GB" or not asked.tokens:
        return None
    spec = asked.model or asked.spec()
    value = asked.kv_bytes(spec, asked.tokens, asked.batch)
    how = question_of(spec, asked.tokens, asked.batch, asked.dtype)
    return Answer([value / BYTES["GiB"], value / BYTES["GB"]], "program", how, raw=value)


def half(asked):
    if asked.formula != "half" or not asked.place.answers:
        return None
    last = asked.place.answers[-1][2]
    return asked.amount(last.raw / 2, f"half of: {last.how}")


def said_again(asked):
    """No formula, no inputs, no model: the section's last figure."""
    if asked.formula or asked.inputs or asked.own_model or not asked.place.answers:
        return None
    last = asked.place.answers[-1][2]
    return asked.amount(last.raw, last.how, last.source) if last.raw else None


KV_FORMULA = re.compile(r"H_kv|latent|elements|per_token|L\*|window|\*T\b|local\+global|KiB|MiB/|^$|\d+\*\d+\*\d+|^[\d,]+(\*[\d,]+)+$")


def kv_size(asked):
    if not asked.asks_for_bytes() or not KV_FORMULA.search(asked.formula):
        return None
    if any(key in asked.inputs for key in ("weights_GB", "W_GB", "K_GB", "params", "card", "MiB", "Bps", "MB")):
        return None
    spec, tokens = asked.spec(), asked.tokens
    if asked.formula == "local+global":
        spec, tokens = asked.model, asked.place.tokens
    if not tokens and "window" in asked.shape():
        tokens = asked.shape()["window"]
    value = asked.kv_bytes(spec, tokens or 1, asked.batch)
    # The model itself, where the shape is its.
    if asked.own_model and asked.kv_bytes(asked.own_model, tokens or 1, asked.batch) == value:
        spec = asked.own_model
    return asked.amount(value, question_of(spec, tokens or 1, asked.batch, asked.dtype))


def weights(asked):
    """params x bytes: the model's own count, rounded as the text rounds it."""
    params, element = asked.number("params"), asked.number("b", "S")
    if not params or not element or not asked.model or asked.unit not in BYTES:
        return None
    digits = len(f"{params:.12g}".split("e")[0].replace(".", "").rstrip("0"))
    answer = asked.program.size(asked.model, 1, 1, "bf16", ("--weights-dtype", DTYPES[element]))
    counted = float(f"{answer['parameters']:.{digits - 1}e}")
    if counted != params:
        return None
    how = question_of(asked.model, 1, 1, asked.dtype, f"parameters {answer['parameters']:,} in {digits} digits")
    return asked.amount(counted * answer["weights"]["weights_bytes"] / answer["parameters"], how)


def with_given_weights(asked):
    """The state by the program, beside weights (and overhead) that the text gives."""
    given = asked.number("weights_GB", "W")
    if given is None or not asked.model or not asked.tokens:
        return None
    state = asked.kv_bytes(asked.model, asked.tokens, asked.batch) / BYTES["GB"]
    how = question_of(asked.model, asked.tokens, asked.batch, asked.dtype, f"and {given} GB of weights")
    total = given + (asked.number("O") or 0) + state
    if asked.unit == "ratio":
        return Answer(state / total, "mixed", how)
    return asked.amount(total * BYTES["GB"], how, "mixed")


def capacity(asked):
    """Tokens that fit into so many GB."""
    room, per_token = asked.number("GB"), asked.number("per_token")
    if asked.unit != "tokens" or not room or not per_token or not asked.model:
        return None
    mine = asked.size(asked.model)["bytes_per_token"]
    return Answer(room * 1e9 / mine, "mixed", question_of(asked.model, 1, 1, asked.dtype, f"and {room} GB"))


def bandwidth(asked):
    """Bytes over a bandwidth: a decode step's reads of a state of that size."""
    amount, rate = asked.number("bytes"), asked.number("Bps")
    if amount is None and asked.number("GB", "GBps") and "GBps" in asked.inputs:
        amount, rate = asked.inputs["GB"] * 1e9, asked.inputs["GBps"] * 1e9
    if asked.unit != "ms" or not amount or not rate:
        return None
    tokens = next(iter(t for t in (asked.tokens, asked.place.tokens, 32768) if t))
    spec = asked.model
    if not spec or asked.size(spec, tokens)["kv_bytes"] != amount:
        tokens = next(t for t in (1 << 20, 1 << 15, 1000000, 1000, 1) if amount % (2 * t) == 0)
        spec = bytes_spec(amount, tokens)
    flag = ("--bandwidth", f"{rate / 1e9:.12g}")
    milliseconds = asked.size(spec, tokens, extra=flag)["bounds"]["state_read_ms"]
    return Answer(milliseconds, "program", question_of(spec, tokens, 1, asked.dtype, *flag))


def prefix_hit(asked):
    """Tokens left to read when a prefix is there already, or how many times more there were without it."""
    prefix, question = asked.inputs.get("prefix"), asked.number("question")
    if not prefix or not question:
        return None
    cached = prefix if isinstance(prefix, int) else next(lengths_in(f"at {prefix}"))
    spec = "layers=1,heads=1,hidden=64,intermediate=64,vocab=64"
    flags = ("--prompt", str(cached + question))
    after = asked.size(spec, extra=(*flags, "--cached", str(cached)))["bounds"]["prefill_tokens"]
    how = question_of(spec, 1, 1, asked.dtype, *flags, "--cached", str(cached))
    if asked.unit == "tokens":
        return Answer(after, "program", how)
    return Answer(asked.size(spec, extra=flags)["bounds"]["prefill_tokens"] / after, "program", how)


# --- Counts and ratios -------------------------------------------------------------------------------------------


def elements(asked):
    if asked.unit not in ("elements", "vectors") or "rows" in asked.inputs:
        return None
    heads = asked.number("heads", "groups", "kv_heads")
    shape = {key: value for key, value in asked.own_shape.items() if key in ("latent", "rope")}
    if heads and "latent" not in shape:
        shape = {"kv_heads": heads, "head_dim": asked.number("dim") or 1}
    spec = shape_text({"layers": 1, **shape})
    return Answer(asked.size(spec)["elements_per_token"], "program", question_of(spec, 1, 1, asked.dtype))


def caches(asked):
    if asked.unit != "caches":
        return None
    spec = shape_text({"layers": asked.inputs["layers"], "kv_heads": 1, "head_dim": 1, "share": asked.inputs["share"]})
    return Answer(layer_counts(asked.size(spec))["rows"], "program", question_of(spec, 1, 1, asked.dtype))


def layer_mix(asked):
    """How many layers keep rows, and what share that is."""
    if not asked.model or not ("layers" in asked.what or asked.unit == "layers" or "layers" in asked.inputs):
        return None
    if asked.asks_for_bytes():
        return None
    counts = layer_counts(asked.size(asked.model))
    how = question_of(asked.model, 1, 1, asked.dtype, "layers")
    if isinstance(asked.exact, list) and len(asked.exact) == 3:
        return Answer([counts["states"], counts["nothing"], counts["rows"]], "program", how)
    total = sum(counts.values())
    if isinstance(asked.exact, list):
        return Answer([counts["rows"], total - counts["rows"]], "program", how)
    return Answer(counts["rows"] / total, "program", how) if asked.unit == "ratio" else None


def saved(asked):
    """1 - x / baseline, for the models that take so much."""
    x, baseline = asked.number("per_token"), asked.number("baseline")
    if not x or not baseline:
        return None
    models = {asked.size(spec)["bytes_per_token"]: spec for spec in dict.fromkeys(asked.place.specs)}
    models.setdefault(baseline, bytes_spec(baseline))
    if asked.model and asked.size(asked.model)["bytes_per_token"] == x:
        models[x] = asked.model
    mine, base = models[x], models[baseline]
    share = asked.size(mine)["bytes_per_token"] / asked.size(base)["bytes_per_token"]
    return Answer(1 - share, "program", question_of(mine, 1, 1, asked.dtype, f"against {base}"))


def per_token_ratio(asked, above, below):
    spec, base = specs_of_counts(above, below)
    value = asked.size(spec)["bytes_per_token"] / asked.size(base)["bytes_per_token"]
    return Answer(value, "program", f"{spec} against {base}")


def ratio_of_heads(asked):
    """Heads, groups or elements against others: bytes of one shape over those of the other."""
    if asked.unit not in ("ratio", "x", "heads"):
        return None
    if isinstance(asked.exact, list):
        return kinds_of_sharing(asked)
    about = set(asked.inputs) & HEAD_COUNTS or re.search(r"\b(MHA|GQA|MQA|elements)\b", asked.what)
    match = re.fullmatch(r"([\w.]+)/([\w.]+)", asked.formula)
    if not about or not match:
        return None
    above, below = (evaluate(side, asked.inputs) for side in match.groups())
    return per_token_ratio(asked, above, below)


def kinds_of_sharing(asked):
    heads, group = asked.number("H_q"), asked.number("g")
    kinds = re.findall(r"MHA|GQA|MQA", asked.what)
    if not heads or not group or len(kinds) != len(asked.exact):
        return None
    counts = {"MHA": heads, "GQA": heads // group, "MQA": 1}
    answers = [per_token_ratio(asked, counts[kind], heads) for kind in kinds]
    return Answer([answer.value for answer in answers], "program", "; ".join(answer.how for answer in answers))


def ratio_of_shapes(asked):
    """ "(10*2*256)/(48*4*128)": layers x heads x width of both."""
    match = re.fullmatch(r"\((\d+)\*(\d+)\*(\d+)\)/\((\d+)\*(\d+)\*(\d+)\)", asked.formula)
    if not match:
        return None
    numbers = [int(digits) for digits in match.groups()]
    specs = [shape_text(dict(zip(("layers", "kv_heads", "head_dim"), part))) for part in (numbers[:3], numbers[3:])]
    value = asked.size(specs[0])["bytes_per_token"] / asked.size(specs[1])["bytes_per_token"]
    return Answer(value, "program", f"{specs[0]} against {specs[1]}")


def then_in_other_form(asked):
    """ "then BF16 to FP8": the last ratio, times that of two forms of the same shape."""
    match = re.search(r"then (\w+) to (\w+)", asked.what)
    if not match or not asked.place.answers:
        return None
    last = asked.place.answers[-1]
    spec = shape_text({"layers": 1, "kv_heads": 8, "head_dim": 128})
    forms = [word.lower() for word in match.groups()]
    after, before = (asked.kv_bytes(spec, 1024, 1, form) for form in reversed(forms))
    return Answer(last[0] * after / before, "program", f"{last[2].how}, {forms[0]} to {forms[1]}")


def ratio_of_answers(asked):
    """ "4.5/18": earlier answers of the section; a list has what is saved beside it."""
    match = re.fullmatch(r"([\d.]+)/([\d.]+)", asked.formula)
    if not match or asked.unit != "ratio" or asked.inputs:
        return None
    above, below = (asked.earlier(float(side)) for side in match.groups())
    value = above.raw / below.raw
    how = f"{above.how} against {below.how}"
    return Answer([value, 1 - value] if isinstance(asked.exact, list) else value, "program", how)


# --- About no model ----------------------------------------------------------------------------------------------


def arithmetic(value, asked):
    return Answer(value, "arithmetic", asked.formula)


def unit_change(asked):
    mebibytes = asked.number("MiB")
    if mebibytes is None or asked.unit not in BYTES or len(asked.inputs) != 1:
        return None
    return Answer(mebibytes * BYTES["MiB"] / BYTES[asked.unit], "arithmetic", asked.formula)


def quantiser(asked):
    """Levels of b bits on [0, 1]; a value that is half way between two has both."""
    x, bits = asked.number("x"), asked.inputs.get("bits")
    if asked.unit == "ratio" and isinstance(bits, list):
        return arithmetic([b / 16 for b in bits], asked)
    if asked.unit == "levels":
        return arithmetic(2**bits, asked)
    if x is None:
        return None
    if isinstance(bits, list):
        return arithmetic({str(b): nearest_levels(x, 2**b - 1) for b in bits}, asked)
    level = nearest_levels(x, asked.inputs["levels"] - 1)
    return arithmetic([level, abs(level - x)], asked)


def nearest_levels(x, steps):
    below = int(x * steps + 1e-9)
    distance = x * steps - below
    if abs(distance - 0.5) < 1e-6:
        return [below / steps, (below + 1) / steps]
    return (below + (distance > 0.5)) / steps


PREFIXES = {"G": 1e9, "T": 1e12, "P": 1e15, "M": 1e6}


def plain_formula(asked):
    """The formula as it stands, with inputs named or meant by order; units of inputs are changed to the entry's."""
    if asked.own_shape or set(asked.inputs) & (HEAD_COUNTS | {"T", "B", "N", "params"}):
        return None  # about a model, so the program's to answer
    inputs = {key: value for key, value in asked.inputs.items() if isinstance(value, (int, float))}
    words = {"question only": "question", "on_cpu": "on_cpu_GB", "measured/predicted - 1": "measured_GB/predicted_GB - 1"}
    value = evaluate(words.get(asked.formula, asked.formula), inputs)
    for key in inputs:
        match = re.fullmatch(r"([GTPM])(Bps|FLOPS|B)", key)
        if match and "chips" in inputs and asked.unit[:1] in PREFIXES:
            value *= PREFIXES[match.group(1)] / PREFIXES[asked.unit[:1]]
    return arithmetic(value, asked)


RULES = (recurrent_state, score_matrices, fates, activation_width, projection, table_of_sizes, shared_prefix, requantised,
         literal_per_token, stated_per_token, calculator_run, half, said_again, weights, with_given_weights, kv_size,
         capacity, bandwidth, prefix_hit, elements, caches, saved, layer_mix, ratio_of_heads, ratio_of_shapes, then_in_other_form,
         ratio_of_answers, unit_change, quantiser, plain_formula)  # fmt: skip
