// What people get wrong about a config.json: keys that mean less than they seem to, and layers that
// keep something else than a calculator of heads and widths expects.
//
// Pure functions; thread-safe.
#ifndef CAIRN_SPEC_CONFIG_NOTES_H_
#define CAIRN_SPEC_CONFIG_NOTES_H_

#include "cairn/spec/decoder_shape.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// Appends to model.notes, a sentence each. REQUIRES: the model's layers are described. A key that
// can't be read says nothing here: whoever needs it has refused it already.
void AddConfigNotes(const ConfigSource& source, ModelSpec& model);

}  // namespace cairn

#endif  // CAIRN_SPEC_CONFIG_NOTES_H_
