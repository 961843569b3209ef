// A steady decode step allocates nothing: this file counts what the program takes from the heap,
// through operator new and through the aligned blocks that buffers are made of.
#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include "cairn/base/aligned_buffer.h"
#include "cairn/engine/engine.h"
#include "cairn/engine/sampler.h"
#include "cairn/engine/sequence_runner.h"
#include "tests/model_for_tests.h"

namespace {

std::atomic<int64_t> g_allocations = 0;

void* Counted(size_t alignment, size_t bytes) {
  ++g_allocations;
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, bytes == 0 ? 1 : bytes) == 0 ? memory : nullptr;
}

void* CountedOrThrow(size_t alignment, size_t bytes) {
  if (void* memory = Counted(alignment, bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t bytes) { return CountedOrThrow(alignof(std::max_align_t), bytes); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return CountedOrThrow(static_cast<size_t>(alignment), bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return Counted(alignment, bytes);
}

namespace cairn {
namespace {

// Decodes `tokens` tokens from what the runner has read.
bool Decode(SequenceRunner& runner, Sampler& sampler, int tokens) {
  bool fine = true;
  for (int i = 0; i < tokens; ++i) {
    const TokenId next = sampler.Sample(runner.logits(), runner.tokens());
    fine = fine && runner.Append({&next, 1}).has_value();
  }
  return fine;
}

int64_t AllocationsInSteps(LoadedModel& loaded, std::span<const TokenId> prompt,
                           const SamplingOptions& sampling, int64_t tokens_before, int steps) {
  auto runner = SequenceRunner::Make(loaded.model(), loaded.store(),
                                     {.context = TokenCount(2000), .chunk = TokenCount(64)});
  REQUIRE(runner.has_value());
  std::vector<TokenId> tokens;
  for (int64_t i = 0; i < tokens_before; ++i) {
    tokens.push_back(prompt[static_cast<size_t>(i) % prompt.size()]);
  }
  REQUIRE((*runner)->Append(tokens).has_value());
  Sampler sampler(sampling);
  constexpr int kWarmUp = 2;
  REQUIRE(Decode(**runner, sampler, kWarmUp));
  const int64_t before = g_allocations;
  const bool fine = Decode(**runner, sampler, steps);
  const int64_t allocations = g_allocations - before;
  CHECK(fine);
  return allocations;
}

// Hears and remembers nothing.
class Silent final : public GenerationListener {
 public:
  bool OnToken(const GeneratedToken& /*token*/) override { return true; }
  void OnEnd(const GenerationEnded& /*end*/) override {}
};

}  // namespace

TEST_CASE("the counter sees vectors and aligned buffers") {
  const int64_t before = g_allocations;
  std::vector<int> values(100);
  AlignedBuffer buffer(100);
  CHECK(g_allocations >= before + 2);
  CHECK(buffer.data() != static_cast<void*>(values.data()));
}

TEST_CASE("decoding allocates nothing, over borders of blocks and of segments of attention") {
  constexpr int kSteps = 50;  // three blocks
  for (const std::string& name : GoldenNames()) {
    const Golden golden = ReadGolden(name);
    for (const int threads : {1, 2}) {
      LoadedModel loaded(GoldenFolder(name), {}, threads);
      for (const int64_t before : {37, 1000}) {
        CAPTURE(name);
        CAPTURE(threads);
        CAPTURE(before);
        CHECK(AllocationsInSteps(loaded, golden.prompt, {}, before, kSteps) == 0);
        CHECK(AllocationsInSteps(loaded, golden.prompt, {.temperature = 0}, before, kSteps) == 0);
        CHECK(AllocationsInSteps(loaded, golden.prompt, {.repetition_penalty = 1.1}, before,
                                 kSteps) == 0);
      }
    }
  }
}

TEST_CASE("a step of many answers allocates nothing, with logits of all and log probabilities") {
  const Golden golden = ReadGolden("llama_gqa");
  LoadedModel loaded(GoldenFolder("llama_gqa"), {}, 2);
  const auto manager = *StateManager::Make(loaded.store(), {});
  const auto engine = *MakeEngine(loaded.model(), *manager, {.context = TokenCount(2000)});
  Silent silent;
  for (int64_t i = 0; i < 6; ++i) {
    GenerationRequest request;
    request.prompt = golden.prompt;
    request.max_tokens = 500;
    request.wants_logprobs = true;
    request.top_logprobs = static_cast<int32_t>(i);
    request.sampling.seed = static_cast<uint64_t>(i);
    request.logit_bias = {{TokenId(3), 1.0f}};
    REQUIRE(engine->Submit(std::move(request), silent).has_value());
  }
  for (int i = 0; i < 20; ++i) engine->Step();
  REQUIRE(engine->stats().running == 6);
  const int64_t before = g_allocations;
  for (int i = 0; i < 50; ++i) engine->Step();
  CHECK(g_allocations - before == 0);
  CHECK(engine->stats().running == 6);
}

TEST_CASE("decoding on a quantized state allocates nothing") {
  const Golden golden = ReadGolden("gemma");  // its heads are as wide as a block
  for (const DType codec : {DType::kBF16, DType::kQ8_0, DType::kQ4_0}) {
    LoadedModel loaded(GoldenFolder("gemma"), {codec, codec}, 2);
    CHECK(AllocationsInSteps(loaded, golden.prompt, {}, 1000, 50) == 0);
  }
}

}  // namespace cairn
