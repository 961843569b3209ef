// Means and spreads of a model's keys (cairn/models/key_standards.h): measured, kept in a file.
#ifndef CAIRN_TOOLS_KEY_STANDARDS_FILE_H_
#define CAIRN_TOOLS_KEY_STANDARDS_FILE_H_

#include <string>

#include "cairn/base/status.h"
#include "cairn/base/thread_pool.h"
#include "cairn/models/key_standards.h"
#include "tools/model_args.h"

namespace cairn {

// Runs the model once over a text of the program's own, about a thousand tokens, with its state in
// float32. The same model gives the same numbers. Models without a tokenizer see tokens of all of
// their vocabulary instead.
Result<KeyStandards> MeasureKeyStandards(const ModelArgs& args, ThreadPool& pool);

// A safetensors file with the tensors layers.N.mean and layers.N.spread.
Result<KeyStandards> ReadKeyStandards(const std::string& path, const ModelSpec& model);
Status WriteKeyStandards(const std::string& path, const KeyStandards& standards);

// What the flags ask for: the file's if there is one, else measured, and then written to the file
// that --key-standards names.
Result<KeyStandards> KeyStandardsFor(const ModelArgs& args, const ModelSpec& model,
                                     ThreadPool& pool);

}  // namespace cairn

#endif  // CAIRN_TOOLS_KEY_STANDARDS_FILE_H_
