// Flags that every command with a model takes, and what they open.
#ifndef CAIRN_TOOLS_MODEL_ARGS_H_
#define CAIRN_TOOLS_MODEL_ARGS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cairn/base/status.h"
#include "cairn/base/thread_pool.h"
#include "cairn/engine/sequence_runner.h"
#include "cairn/eval/form_search.h"
#include "cairn/models/model.h"
#include "cairn/state/state_store.h"
#include "cairn/weights/weight_file.h"

namespace CLI {
class App;
}

namespace cairn {

struct ModelArgs {
  std::string model;
  int64_t context = 0;  // 0: the model's own, at most 4,096
  int64_t batch = 512;
  int threads = 0;           // 0: one per core
  std::string cpus;          // empty: any; else as --cpu-range
  bool fingerprint = false;  // of the weights, which reads all of them once more
  std::string key_type = "f16";
  std::string value_type = "f16";
  std::string key_standards;  // a file; empty: measured anew where they are needed
  std::string state_quality;  // empty: forms are as key_type and value_type say
  std::string state_forms;    // a file with forms by layer

  bool ChoosesForms() const { return !state_quality.empty() || !state_forms.empty(); }

  void AddModelFlag(CLI::App& command);
  void AddThreadFlag(CLI::App& command);
  void AddStateFlags(CLI::App& command);
  void AddKeyStandardsFlag(CLI::App& command);  // of AddStateFlags alone
  void AddContextFlags(CLI::App& command);
};

// "f16" etc. as a codec of state rows; an error that lists the codecs otherwise.
Result<DType> StateCodecFromName(const std::string& flag, const std::string& name);
Result<StateForm> StateFormFromName(const std::string& flag, std::string name, bool of_keys);
Result<StateCodecs> StateCodecsOf(const ModelArgs& args);

// A loaded model and the threads it runs on.
struct OpenedModel {
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Model> model;
  int64_t load_time_us = 0;
  std::string fingerprint;          // of the weights and of key standards, if it was asked for
  std::optional<FormReport> forms;  // nothing: they weren't chosen
};

// A model's file and what it describes, before the weights are loaded.
struct DescribedFile {
  std::unique_ptr<WeightFile> file;
  ModelSpec spec;
};
Result<DescribedFile> DescribeFile(const ModelArgs& args);

// Loads with a note on stderr while it takes long and stderr is a terminal.
Result<OpenedModel> OpenModel(const ModelArgs& args, DescribedFile described);
Result<OpenedModel> OpenModel(const ModelArgs& args);
// The same model once more, on the threads of another: for other stored forms of the same weights.
Result<std::unique_ptr<Model>> LoadModelOn(const ModelArgs& args, ThreadPool& pool);

// The context and chunk that the flags ask for; an error when the model's own context is smaller.
Result<SequenceRunner::Options> RunnerOptionsOf(const ModelArgs& args, const ModelSpec& spec);

// A store just large enough for `sequences` sequences of these options.
Result<std::unique_ptr<StateStore>> MakeStoreFor(const Model& model,
                                                 const SequenceRunner::Options& options,
                                                 int64_t sequences);

}  // namespace cairn

#endif  // CAIRN_TOOLS_MODEL_ARGS_H_
