"""Models that no reference library computes, as scalar Python written from their definitions.

* Retention: RetNet (arXiv 2307.08621) in its parallel form, spelled as the flash-linear-attention library spells it.
* Cross-layer attention (arXiv 2405.12981) as Hunyuan-Large has it: layers share projected keys and values; each rotates the
  keys and norms them with weights of its own.
* Kimi K3 (arXiv 2607.24653): Kimi delta attention (arXiv 2510.26692) with a bounded decay and a gate of full rank, latent
  attention without positions and with a gate, SiTU, experts in a latent space, attention over the residuals of earlier blocks
  (arXiv 2603.15031).

All is float64, one token at a time, and nothing is shared with the engine: attention keeps every head's keys and values, and
retention sums over all earlier tokens. A model has step(token), which gives the next token's logits, and state(), tensors by
name as (shape, values) that a cache would hold.
"""

import math
import operator


def dot(a, b):
    return sum(map(operator.mul, a, b))


def times(matrix, x):
    return [dot(row, x) for row in matrix]


def plus(a, b):
    return [p + q for p, q in zip(a, b)]


def by(a, b):
    return [p * q for p, q in zip(a, b)]


def scaled(x, factor):
    return [value * factor for value in x]


def rms_norm(x, weight, epsilon):
    scale = 1 / math.sqrt(dot(x, x) / len(x) + epsilon)
    return [value * scale * w for value, w in zip(x, weight)]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def silu(x):
    return x * sigmoid(x)


def softmax(scores):
    largest = max(scores)
    weights = [math.exp(score - largest) for score in scores]
    return scaled(weights, 1 / sum(weights))


def heads_of(x, width):
    return [x[i : i + width] for i in range(0, len(x), width)]


def joined(heads):
    return [value for head in heads for value in head]


def weighted_sum(weights, vectors):
    return [dot(weights, channel) for channel in zip(*vectors)]


def attend(query, keys, values, scale):
    return weighted_sum(softmax([scale * dot(query, key) for key in keys]), values)


def rotated(x, position, base):
    """Channel i turns with channel i + half."""
    half = len(x) // 2
    out = list(x)
    for i in range(half):
        angle = position * base ** (-i / half)
        cosine, sine = math.cos(angle), math.sin(angle)
        out[i] = x[i] * cosine - x[i + half] * sine
        out[i + half] = x[i + half] * cosine + x[i] * sine
    return out


def gated_mlp(weights, place, x, activate):
    """down(activate(gate x, up x)); SwiGLU where activate is silu_times."""
    gate, up, down = (weights[f"{place}.{name}.weight"] for name in names_of_mlp(place))
    return times(down, [activate(g, u) for g, u in zip(times(gate, x), times(up, x))])


def names_of_mlp(place):
    kimi_expert = ".block_sparse_moe.experts." in place
    return ("w1", "w3", "w2") if kimi_expert else ("gate_proj", "up_proj", "down_proj")


def silu_times(gate, up):
    return silu(gate) * up


class Model:
    def __init__(self, config, weights):
        self.config = config
        self.weights = weights
        self.position = 0
        self.closest_pick = math.inf  # between the last score that was picked and the first that wasn't

    def pick(self, scores, count):
        """Indices of the largest, largest first."""
        order = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
        self.closest_pick = min(self.closest_pick, scores[order[count - 1]] - scores[order[count]])
        return order[:count]

    def weight(self, layer, name):
        return self.weights[f"{self.prefix}layers.{layer}.{name}"]

    def place(self, layer, name):
        return f"{self.prefix}layers.{layer}.{name}"

    def step(self, token):
        logits = self.logits(token)
        self.position += 1
        return logits


class RetNet(Model):
    prefix = "model."

    def __init__(self, config, weights):
        super().__init__(config, weights)
        layers = config["num_hidden_layers"]
        self.keys = [[] for _ in range(layers)]  # of each token, each head
        self.values = [[] for _ in range(layers)]

    def decay(self, head):
        return 1 - 2.0 ** (-5 - head)

    def retention(self, layer, x):
        hidden, heads = self.config["hidden_size"], self.config["num_heads"]
        key_width, value_width = hidden // heads, 2 * hidden // heads
        query, key, value = (times(self.weight(layer, f"attn.{name}_proj.weight"), x) for name in "qkv")
        turn = lambda head: rotated(head, self.position, 10000)
        self.keys[layer].append([turn(head) for head in heads_of(key, key_width)])
        self.values[layer].append(heads_of(value, value_width))
        read = []
        for h, q in enumerate(turn(head) for head in heads_of(query, key_width)):
            weights = [self.decay(h) ** (self.position - s) * dot(q, keys[h]) / math.sqrt(key_width)
                       for s, keys in enumerate(self.keys[layer])]
            out = weighted_sum(weights, [values[h] for values in self.values[layer]])
            read.append(rms_norm(out, self.weight(layer, "attn.g_norm_swish_gate.weight"), self.config["norm_eps"]))
        gate = map(silu, times(self.weight(layer, "attn.g_proj.weight"), x))
        return times(self.weight(layer, "attn.o_proj.weight"), by(joined(read), gate))

    def logits(self, token):
        epsilon = self.config["norm_eps"]
        x = self.weights["model.embeddings.weight"][token]
        for layer in range(self.config["num_hidden_layers"]):
            x = plus(x, self.retention(layer, rms_norm(x, self.weight(layer, "attn_norm.weight"), epsilon)))
            normed = rms_norm(x, self.weight(layer, "mlp_norm.weight"), epsilon)
            x = plus(x, gated_mlp(self.weights, self.place(layer, "mlp"), normed, silu_times))
        return times(self.weights["lm_head.weight"], rms_norm(x, self.weights["model.norm.weight"], epsilon))

    def state(self):
        """S = sum over tokens of decay^age * k v^T."""
        tensors = {}
        for layer, (keys, values) in enumerate(zip(self.keys, self.values)):
            matrices = []
            for h in range(self.config["num_heads"]):
                fading = [self.decay(h) ** (len(keys) - 1 - s) for s in range(len(keys))]
                matrices += [weighted_sum([f * key[h][c] for f, key in zip(fading, keys)], [value[h] for value in values])
                             for c in range(len(keys[0][h]))]
            shape = [1, self.config["num_heads"], len(keys[0][0]), len(values[0][0])]
            tensors[f"state.{layer}.kv_outer_product"] = (shape, joined(matrices))
        return tensors


class Hunyuan(Model):
    prefix = "model."

    def __init__(self, config, weights):
        super().__init__(config, weights)
        self.factor = config["cla_share_factor"] if config.get("use_cla") else 1
        owners = range(0, config["num_hidden_layers"], self.factor)
        self.keys = {layer: [] for layer in owners}  # rotated, of each token, each head
        self.values = {layer: [] for layer in owners}
        width = config["hidden_size"] // config["num_attention_heads"]
        scaling = config.get("rope_scaling") or {}
        self.base = config["rope_theta"] * scaling.get("alpha", 1) ** (width / (width - 2))

    def norm_head(self, layer, name, head):
        if not self.config["use_qk_norm"]:
            return head
        return rms_norm(head, self.weight(layer, f"self_attn.{name}_layernorm.weight"), self.config["rms_norm_eps"])

    def attention(self, layer, x):
        heads, kv_heads = self.config["num_attention_heads"], self.config["num_key_value_heads"]
        width = self.config["hidden_size"] // heads
        owner = layer - layer % self.factor
        turn = lambda head: rotated(head, self.position, self.base)
        if layer == owner:
            key, value = (times(self.weight(layer, f"self_attn.{name}_proj.weight"), x) for name in "kv")
            self.keys[layer].append([turn(head) for head in heads_of(key, width)])
            self.values[layer].append(heads_of(value, width))
        query = heads_of(times(self.weight(layer, "self_attn.q_proj.weight"), x), width)
        read = []
        for h in range(heads):
            at = h // (heads // kv_heads)
            keys = [self.norm_head(layer, "key", token[at]) for token in self.keys[owner]]
            values = [token[at] for token in self.values[owner]]
            read.append(attend(self.norm_head(layer, "query", turn(query[h])), keys, values, width**-0.5))
        return times(self.weight(layer, "self_attn.o_proj.weight"), joined(read))

    def network(self, layer, x):
        place = self.place(layer, "mlp")
        if self.config.get("num_experts", 1) == 1:
            return gated_mlp(self.weights, place, x, silu_times)
        weights = softmax(times(self.weights[f"{place}.gate.wg.weight"], x))
        picked = self.pick(weights, self.config["moe_topk"])
        total = sum(weights[e] for e in picked) if len(picked) > 1 else 1
        out = gated_mlp(self.weights, f"{place}.shared_mlp", x, silu_times)
        for e in picked:
            out = plus(out, scaled(gated_mlp(self.weights, f"{place}.experts.{e}", x, silu_times), weights[e] / total))
        return out

    def logits(self, token):
        epsilon = self.config["rms_norm_eps"]
        table = self.weights["model.embed_tokens.weight"]
        x = table[token]
        for layer in range(self.config["num_hidden_layers"]):
            x = plus(x, self.attention(layer, rms_norm(x, self.weight(layer, "input_layernorm.weight"), epsilon)))
            x = plus(x, self.network(layer, rms_norm(x, self.weight(layer, "post_attention_layernorm.weight"), epsilon)))
        return times(table, rms_norm(x, self.weights["model.norm.weight"], epsilon))

    def state(self):
        """Of the layers that own some; keys normed without a weight, where each layer has one of its own."""
        tensors = {}
        epsilon = self.config["rms_norm_eps"]
        for layer in self.keys:
            for name, tokens in (("keys", self.keys[layer]), ("values", self.values[layer])):
                if name == "keys" and self.config["use_qk_norm"]:
                    tokens = [[rms_norm(head, [1] * len(head), epsilon) for head in token] for token in tokens]
                shape = [1, len(tokens[0]), len(tokens), len(tokens[0][0])]
                tensors[f"state.{layer}.{name}"] = (shape, joined(joined(token[h] for token in tokens) for h in range(shape[1])))
        return tensors


class KimiK3(Model):
    prefix = "language_model.model."
    LENGTH_EPSILON = 1e-6  # of the lengths of KDA's queries and keys
    RANK_EPSILON = 1e-6  # of the norms of latent attention's ranks

    def __init__(self, config, weights):
        super().__init__(config["text_config"], weights)
        linear = self.config["linear_attn_config"]
        self.heads, self.width, self.kernel = linear["num_heads"], linear["head_dim"], linear["short_conv_kernel_size"]
        self.epsilon = self.config["rms_norm_eps"]
        self.delta_layers = [layer - 1 for layer in linear["kda_layers"]]
        self.latent_layers = [layer - 1 for layer in linear["full_attn_layers"]]
        channels = self.heads * self.width
        self.tails = {layer: {name: [[0.0] * channels] * (self.kernel - 1) for name in "qkv"} for layer in self.delta_layers}
        self.matrices = {layer: [[[0.0] * self.width for _ in range(self.width)] for _ in range(self.heads)]
                         for layer in self.delta_layers}
        self.latents = {layer: [] for layer in self.latent_layers}

    def convolved(self, layer, name, x):
        """Heads of silu(convolution(projection))."""
        inputs = self.tails[layer][name] + [times(self.weight(layer, f"self_attn.{name}_proj.weight"), x)]
        self.tails[layer][name] = inputs[1:]
        kernel = self.weight(layer, f"self_attn.{name}_conv1d.weight")
        return heads_of([silu(dot(kernel[c][0], column)) for c, column in enumerate(zip(*inputs))], self.width)

    def delta_attention(self, layer, x):
        weight = lambda name: self.weight(layer, f"self_attn.{name}")
        query, key, value = (self.convolved(layer, name, x) for name in "qkv")
        unit = lambda head: scaled(head, 1 / math.sqrt(dot(head, head) + self.LENGTH_EPSILON))
        steps = plus(times(weight("f_b_proj.weight"), times(weight("f_a_proj.weight"), x)), weight("dt_bias"))
        betas = map(sigmoid, times(weight("b_proj.weight"), x))
        gates = heads_of(list(map(sigmoid, times(weight("g_proj.weight"), x))), self.width)
        bound = self.config["linear_attn_config"]["gate_lower_bound"]
        read = []
        for h, beta in enumerate(betas):
            q, k = scaled(unit(query[h]), self.width**-0.5), unit(key[h])
            rate = math.exp(weight("A_log")[h])
            decays = [math.exp(bound * sigmoid(rate * step)) for step in heads_of(steps, self.width)[h]]
            # S = diag(decay) S; S = S + beta k (v - S^T k)^T; out = S^T q
            matrix = [scaled(row, decay) for row, decay in zip(self.matrices[layer][h], decays)]
            error = [v - p for v, p in zip(value[h], weighted_sum(k, matrix))]
            matrix = [plus(row, scaled(error, beta * part)) for row, part in zip(matrix, k)]
            self.matrices[layer][h] = matrix
            read.append(by(rms_norm(weighted_sum(q, matrix), weight("o_norm.weight"), self.epsilon), gates[h]))
        return times(weight("o_proj.weight"), joined(read))

    def latent_attention(self, layer, x):
        weight = lambda name: self.weight(layer, f"self_attn.{name}.weight")
        config = self.config
        nope, shared, wide = config["qk_nope_head_dim"], config["qk_rope_head_dim"], config["v_head_dim"]
        rank = rms_norm(times(weight("q_a_proj"), x), weight("q_a_layernorm"), self.RANK_EPSILON)
        query = heads_of(times(weight("q_b_proj"), rank), nope + shared)
        row = times(weight("kv_a_proj_with_mqa"), x)
        latent = rms_norm(row[: config["kv_lora_rank"]], weight("kv_a_layernorm"), self.RANK_EPSILON)
        self.latents[layer].append((latent, row[config["kv_lora_rank"] :]))
        made = [(heads_of(times(weight("kv_b_proj"), kept), nope + wide), tail) for kept, tail in self.latents[layer]]
        read = [attend(q, [heads[h][:nope] + tail for heads, tail in made], [heads[h][nope:] for heads, _ in made],
                       (nope + shared) ** -0.5) for h, q in enumerate(query)]
        gate = map(sigmoid, times(weight("g_proj"), x))
        return times(weight("o_proj"), by(joined(read), gate))

    def situ(self, gate, up):
        bound, linear = self.config["activation_situ_beta"], self.config["activation_situ_linear_beta"]
        return bound * math.tanh(gate / bound) * sigmoid(gate) * linear * math.tanh(up / linear)

    def network(self, layer, x):
        if layer < self.config["first_k_dense_replace"]:
            return gated_mlp(self.weights, self.place(layer, "mlp"), x, self.situ)
        place = self.place(layer, "block_sparse_moe")
        scores = list(map(sigmoid, times(self.weights[f"{place}.gate.weight"], x)))
        choice = plus(scores, self.weights[f"{place}.gate.e_score_correction_bias"])
        picked = self.pick(choice, self.config["num_experts_per_token"])
        factor = self.config["routed_scaling_factor"] / sum(scores[e] for e in picked)
        narrow = times(self.weights[f"{place}.routed_expert_down_proj.weight"], x)
        routed = weighted_sum([scores[e] * factor for e in picked],
                              [gated_mlp(self.weights, f"{place}.experts.{e}", narrow, self.situ) for e in picked])
        routed = rms_norm(routed, self.weights[f"{place}.routed_expert_norm.weight"], self.epsilon)
        routed = times(self.weights[f"{place}.routed_expert_up_proj.weight"], routed)
        return plus(routed, gated_mlp(self.weights, f"{place}.shared_experts", x, self.situ))

    def mixed(self, blocks, current, place):
        """What a branch reads: a softmax over the sums of earlier blocks and the current one's."""
        vectors = blocks + [current]
        norm, score = self.weights[f"{place}_norm.weight"], self.weights[f"{place}_proj.weight"][0]
        return weighted_sum(softmax([dot(score, rms_norm(v, norm, self.epsilon)) for v in vectors]), vectors)

    def logits(self, token):
        current = self.weights[f"{self.prefix}embed_tokens.weight"][token]
        blocks = []
        for layer in range(self.config["num_hidden_layers"]):
            place = self.place(layer, "self_attention_res")
            x = self.mixed(blocks, current, place) if blocks else current
            opens = layer % self.config["attn_res_block_size"] == 0
            if opens:
                blocks = blocks + [current]
            mix = self.delta_attention if layer in self.delta_layers else self.latent_attention
            made = mix(layer, rms_norm(x, self.weight(layer, "input_layernorm.weight"), self.epsilon))
            current = made if opens else plus(current, made)
            x = self.mixed(blocks, current, self.place(layer, "mlp_res"))
            x = rms_norm(x, self.weight(layer, "post_attention_layernorm.weight"), self.epsilon)
            current = plus(current, self.network(layer, x))
        x = self.mixed(blocks, current, f"{self.prefix}output_attn_res")
        return times(self.weights["language_model.lm_head.weight"], rms_norm(x, self.weights[f"{self.prefix}norm.weight"], self.epsilon))

    def state(self):
        tensors = {}
        for layer, tails in self.tails.items():
            columns = [joined(tails[name][i] for name in "qkv") for i in range(self.kernel - 1)]
            tensors[f"state.{layer}.conv_states.0"] = ([1, len(columns[0]), len(columns)], joined(zip(*columns)))
            matrices = self.matrices[layer]
            tensors[f"state.{layer}.recurrent_states.0"] = ([1, self.heads, self.width, self.width], joined(map(joined, matrices)))
        for layer, rows in self.latents.items():
            for name, i in (("keys", 0), ("values", 1)):
                tensors[f"state.{layer}.{name}"] = ([1, 1, len(rows), len(rows[0][i])], joined(row[i] for row in rows))
        return tensors
