#include "cairn/kernels/recurrence_reference.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "cairn/kernels/flush_subnormals.h"
#include "cairn/kernels/gates.h"

namespace cairn {
namespace {

// Exponentials have one implementation; here it is asked for one number.
float ExpOne(float x) {
  Exp(&x, 1, &x);
  return x;
}

float SigmoidOne(float x) {
  Sigmoid(&x, 1, &x);
  return x;
}

struct Wkv4Average {
  float numerator;
  float denominator;
  float exponent;
};

Wkv4Average Averaged(const Wkv4Average& state, float key, float value) {
  const float larger = std::max(state.exponent, key);
  const float kept = ExpOne(state.exponent - larger);
  const float added = ExpOne(key - larger);
  return {std::fma(kept, state.numerator, added * value), std::fma(kept, state.denominator, added),
          larger};
}

}  // namespace

void CausalConvReference(const CausalConvTask& task, int64_t tokens) {
  const FlushSubnormals flush;
  const int64_t history = (task.kernel - 1) * task.dilation;
  for (int64_t c = 0; c < task.channels; ++c) {
    std::vector<float> inputs;
    for (int64_t i = 0; i < history; ++i) inputs.push_back(task.tail[i * task.channel_stride + c]);
    for (int64_t t = 0; t < tokens; ++t) {
      inputs.push_back(task.inputs.Row(t)[c]);
      float sum = task.bias != nullptr ? task.bias[c] : 0;
      for (int64_t k = 0; k < task.kernel; ++k) {
        const auto at = static_cast<size_t>(t + k * task.dilation);
        sum = std::fma(task.weights[k * task.channel_stride + c], inputs[at], sum);
      }
      if (task.activation == ConvActivation::kSilu) Silu(&sum, 1, &sum);
      task.out.Row(t)[c] = sum;
    }
    for (int64_t i = 0; i < history; ++i) {
      task.tail[i * task.channel_stride + c] = inputs[static_cast<size_t>(tokens + i)];
    }
  }
}

void LinearAttentionReference(const LinearAttentionHead& head, int64_t tokens) {
  const FlushSubnormals flush;
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t j = 0; j < head.value_width; ++j) {
      const float value = head.values.Row(t)[j];
      float scaled = value;
      if (head.value_scales.first != nullptr) scaled = *head.value_scales.Row(t) * value;
      float out = 0;
      for (int64_t i = 0; i < head.key_width; ++i) {
        const float decay = head.decays.Row(t)[head.decay_width == DecayWidth::kChannel ? i : 0];
        float& state = head.state[i * head.value_width + j];
        state = std::fma(head.keys.Row(t)[i], scaled, decay * state);
        out = std::fma(head.queries.Row(t)[i], state, out);
      }
      if (head.skip != 0) out = std::fma(head.skip, value, out);
      head.out.Row(t)[j] = out;
    }
  }
}

void Wkv6Reference(const Wkv6Head& head, int64_t tokens) {
  const FlushSubnormals flush;
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t j = 0; j < head.value_width; ++j) {
      float out = 0;
      for (int64_t i = 0; i < head.key_width; ++i) {
        float& state = head.state[i * head.value_width + j];
        const float added = head.keys.Row(t)[i] * head.values.Row(t)[j];
        out = std::fma(head.receptances.Row(t)[i], std::fma(head.bonus[i], added, state), out);
        state = std::fma(head.decays.Row(t)[i], state, added);
      }
      head.out.Row(t)[j] = out;
    }
  }
}

void DeltaRuleReference(const DeltaRuleHead& head, int64_t tokens) {
  const FlushSubnormals flush;
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t j = 0; j < head.value_width; ++j) {
      float prediction = 0;
      for (int64_t i = 0; i < head.key_width; ++i) {
        const float decay = head.decays.Row(t)[head.decay_width == DecayWidth::kChannel ? i : 0];
        float& state = head.state[i * head.value_width + j];
        state = decay * state;
        prediction = std::fma(head.keys.Row(t)[i], state, prediction);
      }
      const float delta = *head.betas.Row(t) * (head.values.Row(t)[j] - prediction);
      float out = 0;
      for (int64_t i = 0; i < head.key_width; ++i) {
        float& state = head.state[i * head.value_width + j];
        state = std::fma(head.keys.Row(t)[i], delta, state);
        out = std::fma(head.queries.Row(t)[i], state, out);
      }
      head.out.Row(t)[j] = out;
    }
  }
}

void Wkv7Reference(const Wkv7Head& head, int64_t tokens) {
  const FlushSubnormals flush;
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t j = 0; j < head.value_width; ++j) {
      float removed = 0;
      for (int64_t i = 0; i < head.key_width; ++i) {
        removed =
            std::fma(head.removal_keys.Row(t)[i], head.state[i * head.value_width + j], removed);
      }
      float out = 0;
      for (int64_t i = 0; i < head.key_width; ++i) {
        float& state = head.state[i * head.value_width + j];
        const float removal = head.removal_keys.Row(t)[i] * head.rates.Row(t)[i];
        const float kept = std::fma(-removal, removed, head.decays.Row(t)[i] * state);
        state = std::fma(head.keys.Row(t)[i], head.values.Row(t)[j], kept);
        out = std::fma(head.receptances.Row(t)[i], state, out);
      }
      head.out.Row(t)[j] = out;
    }
  }
}

void SelectiveScanReference(const SelectiveScanTask& task, int64_t tokens) {
  const FlushSubnormals flush;
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t c = 0; c < task.channels; ++c) {
      const float input = task.inputs.Row(t)[c];
      const float step = task.steps.Row(t)[c];
      float out = 0;
      for (int64_t n = 0; n < task.state_width; ++n) {
        float& state = task.state[n * task.channel_stride + c];
        const float decay = ExpOne(step * task.rates[n * task.channel_stride + c]);
        state = std::fma(task.input_keys.Row(t)[n], step * input, decay * state);
        out = std::fma(task.output_keys.Row(t)[n], state, out);
      }
      task.out.Row(t)[c] = std::fma(task.skip[c], input, out);
    }
  }
}

void Wkv4Reference(const Wkv4Task& task, int64_t tokens) {
  const FlushSubnormals flush;
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t c = 0; c < task.channels; ++c) {
      const float key = task.keys.Row(t)[c];
      const float value = task.values.Row(t)[c];
      Wkv4Average state = {task.numerator[c], task.denominator[c], task.max_exponent[c]};
      const Wkv4Average read = Averaged(state, task.bonus[c] + key, value);
      task.out.Row(t)[c] = read.numerator / read.denominator;
      state.exponent += task.decay[c];
      state = Averaged(state, key, value);
      task.numerator[c] = state.numerator;
      task.denominator[c] = state.denominator;
      task.max_exponent[c] = state.exponent;
    }
  }
}

void RgLruReference(const RgLruTask& task, int64_t tokens) {
  const FlushSubnormals flush;
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t c = 0; c < task.channels; ++c) {
      const float input = SigmoidOne(task.input_gates.Row(t)[c]) * task.inputs.Row(t)[c];
      const float exponent = task.rates[c] * SigmoidOne(task.recurrence_gates.Row(t)[c]);
      float rest = exponent + exponent;
      ExpMinusOne(&rest, 1, &rest);
      const float next = std::fma(ExpOne(exponent), task.state[c], std::sqrt(-rest) * input);
      task.state[c] = t == 0 && task.starts_sequence ? input : next;
      task.out.Row(t)[c] = task.state[c];
    }
  }
}

}  // namespace cairn
