// The disk tier: an ObjectStore in the segment files of one folder (docs/state_format.md).
//
// Memory: a queue of spans, a few buffers of 1 MiB, and about 250 bytes for each object. A full
// queue refuses; nothing is copied before its turn. Writes are acknowledged in groups, after one
// sync for all. Which objects go under the bound: segment by segment the oldest ones, but an object
// that was read since it was written there gets a second life in the newest segment.
#ifndef CAIRN_STATE_DISK_STORE_H_
#define CAIRN_STATE_DISK_STORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "cairn/base/executor.h"
#include "cairn/base/file_system.h"
#include "cairn/base/ids.h"
#include "cairn/base/status.h"
#include "cairn/state/object_store.h"

namespace cairn {

struct DiskStoreOptions {
  std::string folder;
  Bytes bound;  // of all files; at least kDiskBytesMin. Objects may have a quarter of it
  Bytes segment{int64_t{64} << 20};     // of a file; at most an eighth of the bound is taken
  Bytes queue_max{int64_t{256} << 20};  // put and not yet written
  int64_t requests_max = 65'536;        // of each kind
  // How many requests are on their way to the disk at once.
  int writers = 2;
  int readers = 4;
  // Null: the machine's, and threads of the store's own. Others must outlive the store, and must
  // have run or dropped all jobs before it is destroyed.
  FileSystem* files = nullptr;
  Executor* executor = nullptr;
};

inline constexpr Bytes kDiskBytesMin{int64_t{1} << 20};

// Errors: a bound below kDiskBytesMin; another process has the folder; a newer program wrote it;
// the system refuses. The destructor waits for what is on its way and drops what still waits.
Result<std::unique_ptr<ObjectStore>> OpenDiskStore(const DiskStoreOptions& options);

}  // namespace cairn

#endif  // CAIRN_STATE_DISK_STORE_H_
