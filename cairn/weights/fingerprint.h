// What tells one model's weights from another's: a SHA-256 over the files, byte for byte.
//
// Reads all of them once, with every thread of the pool. Two models with one fingerprint compute
// the same. Thread safety: as the pool.
#ifndef CAIRN_WEIGHTS_FINGERPRINT_H_
#define CAIRN_WEIGHTS_FINGERPRINT_H_

#include <string>

#include "cairn/base/status.h"
#include "cairn/base/thread_pool.h"
#include "cairn/weights/weight_file.h"

namespace cairn {

// 32 bytes. `path` is what the file was opened from: a config.json beside it counts, too, unless
// the file describes itself. Errors: the config can't be read.
Result<std::string> FingerprintOf(const WeightFile& file, const std::string& path,
                                  ThreadPool& pool);

}  // namespace cairn

#endif  // CAIRN_WEIGHTS_FINGERPRINT_H_
