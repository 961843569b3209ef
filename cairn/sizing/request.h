// SizeRequest: everything that can be asked about a model's size, and the report that answers it.
//
// The command line, the page and whoever else asks fill in the same request. Plain data and a pure
// function; thread-compatible.
#ifndef CAIRN_SIZING_REQUEST_H_
#define CAIRN_SIZING_REQUEST_H_

#include <optional>
#include <string>
#include <vector>

#include "cairn/base/status.h"
#include "cairn/sizing/parallel.h"
#include "cairn/sizing/section.h"
#include "cairn/sizing/sizing.h"
#include "cairn/spec/model_description.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

struct SizeRequest {
  SizingQuestion question = {};  // no tokens and no requests: the model's own context
  Parallelism parallel = {};
  bool draft_layers = false;       // the layers that draft tokens are run, and keep state
  std::string weights_dtype = {};  // empty: as the file or checkpoint has them, else bf16
  std::string gpu = {};            // "H100", "H100x4"; empty: no card is asked about
  double memory_fraction = 0.9;    // of a card's memory that may be used
  double memory_gib = 0;           // of a card; 0: the GPU's
  double bandwidth_gbs = 0;        // of a card's memory; 0: the GPU's
  double tflops = 0;               // of a card; 0: the GPU's
  std::string link = {};           // to move state over; empty: every link that is known
  int64_t chunk_tokens = 8192;     // of a prefill step
  int64_t prompt = 0;              // tokens to read; 0: the longest request
  int64_t cached = 0;              // of the prompt, already in the state
  bool share_overhead = false;     // overhead is a tenth of the weights, not the runtime's parts
  bool fleet = false;              // also where a card is named: which others would do
  std::string profile = {};        // "vllm@0.27.1": what that framework would print; empty: none
  std::vector<std::string> profile_settings = {};  // "max_model_len=131072"
};

// What one card of a pipeline stage keeps.
struct StageSizing {
  RankModel rank;
  Sizing sizing;
};

struct SizedModel {
  std::string name;  // what the user called it
  ModelSpec spec;
  std::optional<WeightTotals> weights = std::nullopt;
  std::vector<std::string> notes = {};  // of the file: what is missing or odd there
  ModelDescription description = {};    // what `spec` was read from
};

struct SizeReport {
  SizedModel model;
  SizeRequest request;
  Sizing sizing;                    // of the whole model on one card
  std::vector<StageSizing> stages;  // one if nothing is divided
  std::vector<Section> sections;    // answers beyond the state
  std::vector<std::string> warnings;

  // The most that a card of any stage keeps, per answer.
  const StageSizing& FullestStage(size_t answer) const;
};

// Errors: those of SizeModel, RankModels, CardSections and ProfileSection, and names that aren't
// known.
Result<SizeReport> AnswerSizeRequest(SizedModel model, SizeRequest request);

// The model's own context, or a common one where its file names none.
TokenCount DefaultContext(const ModelSpec& model);

}  // namespace cairn

#endif  // CAIRN_SIZING_REQUEST_H_
