// Reads: which bytes of its state a request reads and writes to make one token.
//
// Storage and traffic differ: an index leaves a query only its picks, a window is read whole, a
// layer that shares another's rows reads them again, and what is recurrent is read and written.
// Bytes come from StateLayout, component by component. Pure functions; thread-safe.
#ifndef CAIRN_SIZING_BOUNDS_READS_H_
#define CAIRN_SIZING_BOUNDS_READS_H_

#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/spec/model_spec.h"

namespace cairn {

// Of one request's step after `context` tokens.
struct StateTraffic {
  Bytes rows;           // keys, values, latents and entries read
  Bytes index;          // index keys read to choose among them
  Bytes fixed_read;     // recurrent states and tails
  Bytes fixed_written;  // the same again, back
  Bytes row_written;    // the new token's rows
  Bytes stored;         // what the request holds
  Bytes all_rows;       // what would be read if every query read all that its layer keeps

  Bytes Read() const { return rows + index + fixed_read; }
  Bytes Moved() const { return Read() + fixed_written + row_written; }
};

// Errors: a context out of range, codecs that don't fit the widths.
Result<StateTraffic> TrafficOfStep(const ModelSpec& model, const StateCodecs& codecs,
                                   TokenCount context);

}  // namespace cairn

#endif  // CAIRN_SIZING_BOUNDS_READS_H_
