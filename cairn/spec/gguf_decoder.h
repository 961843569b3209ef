// Any decoder that a GGUF file holds, as far as its sizes go: what its layers keep, and their
// widths.
//
// One reader for all architectures, since their keys are the same; gguf_architectures.h holds what
// differs. Pure function; thread-safe.
#ifndef CAIRN_SPEC_GGUF_DECODER_H_
#define CAIRN_SPEC_GGUF_DECODER_H_

#include "cairn/base/status.h"
#include "cairn/spec/families.h"
#include "cairn/spec/gguf_architectures.h"
#include "cairn/spec/metadata.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// Sizing only, and its parameters uncounted: a file's tensor table tells them.
Result<ModelSpec> SizedModelFromGguf(const Metadata& metadata, const GgufTensors& tensors,
                                     const GgufArchitecture& architecture);

}  // namespace cairn

#endif  // CAIRN_SPEC_GGUF_DECODER_H_
