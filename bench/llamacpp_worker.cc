// llamacpp_worker: one llama.cpp model that measures what lines on standard input ask for, in the
// way of llama-bench and llama-batched-bench. bench/versus builds and drives it.
//
//   llamacpp_worker MODEL TYPE_K TYPE_V FLASH_ATTN STATES [F16_STATES]
//
// A line of words asks for one measurement; a line of JSON answers with the nanoseconds it took:
//
//   prompt 512 depth 4096 threads 1        {"ns": 6912345678}
//   answer 64 sequences 8                  {"ns": 1912345678}
//   depth 4096 threads 2                   {"ns": 0}, and the state at that depth is at hand
//   first 1 Why is the sky blue?           {"token": 198}, the likeliest first token of an answer
//
// The state at a depth is computed once and kept in the file STATES-d<depth>.state, one of several
// sequences in STATES-d<depth>x<sequences>.state. A file of a smaller depth is the beginning of a
// larger one. Every measurement starts from a restored copy.
#include <llama.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "bench/llamacpp_state.h"

namespace {

constexpr int kBatch = 2048;  // llama-bench's defaults: tokens of a call, and computed at once
constexpr int kMicroBatch = 512;
constexpr int kFirstTokenContext = 4096;

struct Request {
  int prompt = 0;
  int answer = 0;
  int depth = 0;
  int threads = 1;
  int sequences = 1;

  int context() const { return sequences * (prompt + answer + depth); }
  bool operator==(const Request&) const = default;
};

// "prompt 512 depth 4096" -> true and the numbers; false for anything else.
bool Parse(const std::string& line, Request& request) {
  const std::map<std::string, int*> fields = {{"prompt", &request.prompt},
                                              {"answer", &request.answer},
                                              {"depth", &request.depth},
                                              {"threads", &request.threads},
                                              {"sequences", &request.sequences}};
  std::istringstream words(line);
  std::string name;
  while (words >> name) {
    const auto field = fields.find(name);
    if (field == fields.end() || !(words >> *field->second) || *field->second < 0) return false;
  }
  return request.threads > 0 && request.sequences > 0;
}

bool CacheType(const std::string& name, ggml_type& type) {
  const std::map<std::string, ggml_type> types = {
      {"f32", GGML_TYPE_F32},   {"f16", GGML_TYPE_F16},   {"bf16", GGML_TYPE_BF16},
      {"q8_0", GGML_TYPE_Q8_0}, {"q4_0", GGML_TYPE_Q4_0}, {"q4_1", GGML_TYPE_Q4_1},
      {"q5_0", GGML_TYPE_Q5_0}, {"q5_1", GGML_TYPE_Q5_1}, {"iq4_nl", GGML_TYPE_IQ4_NL}};
  const auto found = types.find(name);
  if (found == types.end()) return false;
  type = found->second;
  return true;
}

struct Free {
  void operator()(llama_model* model) const { llama_model_free(model); }
  void operator()(llama_context* context) const { llama_free(context); }
  void operator()(ggml_threadpool* pool) const { ggml_threadpool_free(pool); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

// A batch that llama.cpp can read, of at most kBatch tokens.
class Batch {
 public:
  Batch() : batch_(llama_batch_init(kBatch, 0, 1)) {}
  ~Batch() { llama_batch_free(batch_); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  bool full() const { return batch_.n_tokens == kBatch; }
  void Add(llama_token token, int position, int sequence, bool logits) {
    const int i = batch_.n_tokens++;
    batch_.token[i] = token;
    batch_.pos[i] = position;
    batch_.n_seq_id[i] = 1;
    batch_.seq_id[i][0] = sequence;
    batch_.logits[i] = static_cast<int8_t>(logits);
  }
  bool Decode(llama_context* context) {
    const bool done = batch_.n_tokens == 0 || llama_decode(context, batch_) == 0;
    batch_.n_tokens = 0;
    return done;
  }

 private:
  llama_batch batch_;
};

class Worker {
 public:
  Worker(Owned<llama_model> model, llama_context_params params, std::string states,
         std::string f16_states)
      : model_(std::move(model)),
        params_(params),
        states_(std::move(states)),
        f16_states_(std::move(f16_states)) {}

  std::string Answer(const std::string& line) {
    if (line.starts_with("first ")) return First(line);
    Request request;
    if (!Parse(line, request)) return R"({"error": "not understood"})";
    if (request.depth > 0 && !HaveState(request)) {
      return R"({"error": "the state at that depth can't be computed or kept"})";
    }
    if (request.prompt + request.answer == 0) return R"({"ns": 0})";
    const int64_t ns = Measure(request);
    if (ns < 0) return R"({"error": "llama.cpp failed"})";
    return "{\"ns\": " + std::to_string(ns) + "}";
  }

 private:
  bool Open(int tokens, int sequences, int threads) {
    context_.reset();
    opened_ = {};
    llama_context_params params = params_;
    params.n_ctx = static_cast<uint32_t>(tokens);
    params.n_seq_max = static_cast<uint32_t>(sequences);
    context_.reset(llama_init_from_model(model_.get(), params));
    return context_ != nullptr && UseThreads(threads);
  }

  // As llama-bench does: a pool of its own, attached to the context.
  bool UseThreads(int threads) {
    llama_detach_threadpool(context_.get());
    pool_.reset();
    ggml_threadpool_params params = ggml_threadpool_params_default(threads);
    pool_.reset(ggml_threadpool_new(&params));
    if (!pool_) return false;
    llama_attach_threadpool(context_.get(), pool_.get(), nullptr);
    llama_set_n_threads(context_.get(), threads, threads);
    return true;
  }

  llama_token Token(bool first) const {
    const llama_vocab* vocab = llama_model_get_vocab(model_.get());
    if (first && llama_vocab_get_add_bos(vocab)) return llama_vocab_bos(vocab);
    return std::rand() % llama_vocab_n_tokens(vocab);
  }

  bool Prompt(int tokens, int sequences, int position) {
    for (int sequence = 0; sequence < sequences; ++sequence) {
      for (int i = 0; i < tokens; ++i) {
        batch_.Add(Token(i == 0), position + i, sequence, i + 1 == tokens);
        if (batch_.full() && !batch_.Decode(context_.get())) return false;
      }
    }
    if (!batch_.Decode(context_.get())) return false;
    llama_synchronize(context_.get());
    return true;
  }

  bool AnswerTokens(int tokens, int sequences, int position) {
    for (int i = 0; i < tokens; ++i) {
      for (int sequence = 0; sequence < sequences; ++sequence) {
        batch_.Add(Token(i == 0), position + i, sequence, true);
      }
      if (!batch_.Decode(context_.get())) return false;
      llama_synchronize(context_.get());
    }
    return true;
  }

  bool Run(const Request& request, int prompt, int answer, int depth) {
    return Prompt(prompt, request.sequences, depth) &&
           AnswerTokens(answer, request.sequences, depth + prompt);
  }

  // -1 when llama.cpp fails.
  int64_t Measure(const Request& request) {
    if (context_ == nullptr || !(opened_ == request)) {
      if (!Open(request.context(), request.sequences, request.threads)) return -1;
      // llama-bench's warm-up: without the depth, and one token of an answer.
      if (!Run(request, request.prompt, std::min(request.answer, 1), 0)) return -1;
      opened_ = request;
    }
    llama_memory_clear(llama_get_memory(context_.get()), false);
    if (request.depth > 0 && !Restore(request.sequences)) return -1;
    const auto start = std::chrono::steady_clock::now();
    if (!Run(request, request.prompt, request.answer, request.depth)) return -1;
    return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  }

  // llama-bench keeps the state of one sequence. That of several is of the whole context: one of
  // them can't go from a context of one sequence into one of many.
  bool Restore(int sequences) {
    return (sequences == 1
                ? llama_state_seq_set_data(context_.get(), state_.data(), state_.size(), 0)
                : llama_state_set_data(context_.get(), state_.data(), state_.size())) > 0;
  }

  void Save(int sequences) {
    if (sequences == 1) {
      state_.resize(llama_state_seq_get_size(context_.get(), 0));
      state_.resize(llama_state_seq_get_data(context_.get(), state_.data(), state_.size(), 0));
    } else {
      state_.resize(llama_state_get_size(context_.get()));
      state_.resize(llama_state_get_data(context_.get(), state_.data(), state_.size()));
    }
  }

  std::filesystem::path StateFile(int depth, int sequences) const {
    return states_ + "-d" + std::to_string(depth) +
           (sequences > 1 ? "x" + std::to_string(sequences) : "") + ".state";
  }

  // The largest depth below `depth` whose file has one sequence; 0 if there is none.
  int DepthOnDisk(int depth) const {
    const std::string prefix = std::filesystem::path(states_ + "-d").filename().string();
    std::error_code error;
    int best = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(StateFile(0, 1).parent_path(), error)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(prefix)) continue;
      const int found = std::atoi(name.c_str() + prefix.size());
      if (found < depth && entry.path() == StateFile(found, 1)) best = std::max(best, found);
    }
    return best;
  }

  // Brings the state into state_: from its file, which is made first if it isn't there.
  bool HaveState(const Request& request) {
    const int depth = request.depth;
    if (state_depth_ == depth && state_sequences_ == request.sequences) return true;
    state_depth_ = 0;
    const std::filesystem::path path = StateFile(depth, request.sequences);
    if (!std::filesystem::exists(path) && !(ComputeState(request) && WriteState(path)))
      return false;
    if (!ReadState(path)) return false;
    state_depth_ = depth;
    state_sequences_ = request.sequences;
    return true;
  }

  bool ReadState(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) return false;
    state_.resize(static_cast<size_t>(file.tellg()));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(state_.data()), static_cast<std::streamsize>(state_.size()));
    return file.good() && !state_.empty();
  }

  // With F16_STATES the state of one sequence is re-encoded from the file that lies there.
  bool ComputeState(const Request& request) {
    if (!f16_states_.empty() && request.sequences == 1) {
      if (!ReadState(f16_states_ + "-d" + std::to_string(request.depth) + ".state")) return false;
      state_ = StateRecoder(state_, params_.type_k, params_.type_v).Run();
      return !state_.empty();
    }
    const int sequences = request.sequences;
    if (!Open(request.depth * sequences, sequences, request.threads)) return false;
    const int start = sequences == 1 ? DepthOnDisk(request.depth) : 0;
    if (start > 0 && !(ReadState(StateFile(start, 1)) && Restore(1))) return false;
    if (!Prompt(request.depth - start, sequences, start)) return false;
    Save(sequences);
    context_.reset();
    return !state_.empty();
  }

  // The file appears only when it is whole.
  bool WriteState(const std::filesystem::path& path) const {
    const std::filesystem::path partial = path.string() + ".partial";
    std::ofstream file(partial, std::ios::binary);
    file.write(reinterpret_cast<const char*>(state_.data()),
               static_cast<std::streamsize>(state_.size()));
    file.close();
    std::error_code error;
    if (file) std::filesystem::rename(partial, path, error);
    return file && !error;
  }

  // "first THREADS TEXT": what llama-completion does until the first token, without its warm-up.
  std::string First(const std::string& line) {
    std::istringstream words(line);
    std::string text;
    int threads = 0;
    words >> text >> threads;
    std::getline(words >> std::ws, text);
    const llama_vocab* vocab = llama_model_get_vocab(model_.get());
    std::vector<llama_token> tokens(text.size() + 2);
    const int count = llama_tokenize(vocab, text.data(), static_cast<int>(text.size()),
                                     tokens.data(), static_cast<int>(tokens.size()), true, true);
    if (threads < 1 || count < 1 || count > kBatch || !Open(kFirstTokenContext, 1, threads)) {
      return R"({"error": "not understood"})";
    }
    for (int i = 0; i < count; ++i) {
      batch_.Add(tokens[static_cast<size_t>(i)], i, 0, i + 1 == count);
    }
    if (!batch_.Decode(context_.get())) return R"({"error": "llama.cpp failed"})";
    const float* logits = llama_get_logits_ith(context_.get(), -1);
    const auto best = std::max_element(logits, logits + llama_vocab_n_tokens(vocab)) - logits;
    return "{\"token\": " + std::to_string(best) + "}";
  }

  const Owned<llama_model> model_;
  const llama_context_params params_;
  const std::string states_;
  const std::string f16_states_;  // empty: none
  Owned<ggml_threadpool> pool_;
  Owned<llama_context> context_;
  Request opened_;  // what context_ was made for
  Batch batch_;
  std::vector<uint8_t> state_;
  int state_depth_ = 0;  // of state_; 0: none
  int state_sequences_ = 0;
};

int Main(const std::vector<std::string>& arguments) {
  llama_context_params params = llama_context_default_params();
  if (arguments.size() < 6 || arguments.size() > 7 || !CacheType(arguments[2], params.type_k) ||
      !CacheType(arguments[3], params.type_v)) {
    std::fputs("usage: llamacpp_worker MODEL TYPE_K TYPE_V FLASH_ATTN STATES [F16_STATES]\n",
               stderr);
    return 2;
  }
  params.n_batch = kBatch;
  params.n_ubatch = kMicroBatch;
  params.swa_full = false;
  params.flash_attn_type =
      arguments[4] == "1" ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  llama_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
  llama_backend_init();
  Owned<llama_model> model(
      llama_model_load_from_file(arguments[1].c_str(), llama_model_default_params()));
  if (model == nullptr) return 1;
  Worker worker(std::move(model), params, arguments[5],
                arguments.size() == 7 ? arguments[6] : std::string());
  std::string line;
  while (std::getline(std::cin, line)) {
    std::printf("%s\n", worker.Answer(line).c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return Main({argv, argv + argc}); }
