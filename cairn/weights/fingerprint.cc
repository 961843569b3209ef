#include "cairn/weights/fingerprint.h"

#include <algorithm>
#include <span>
#include <vector>

#include "cairn/base/sha256.h"
#include "cairn/weights/describe_model.h"

namespace cairn {
namespace {

using ByteSpan = std::span<const std::byte>;

// Large enough that a hash of hashes costs nothing, small enough to share out.
constexpr size_t kPieceBytes = size_t{4} << 20;

// The files in pieces; of a file that was made in memory, its tensors.
std::vector<ByteSpan> PiecesOf(const WeightFile& file) {
  std::vector<ByteSpan> wholes = file.FileBytes();
  if (wholes.empty()) {
    for (const TensorInfo& tensor : file.tensors()) wholes.push_back(tensor.bytes);
  }
  std::vector<ByteSpan> pieces;
  for (ByteSpan rest : wholes) {
    while (!rest.empty()) {
      const ByteSpan piece = rest.first(std::min(kPieceBytes, rest.size()));
      pieces.push_back(piece);
      rest = rest.subspan(piece.size());
    }
  }
  return pieces;
}

}  // namespace

Result<std::string> FingerprintOf(const WeightFile& file, const std::string& path,
                                  ThreadPool& pool) {
  const std::vector<ByteSpan> pieces = PiecesOf(file);
  std::vector<Sha256::Digest> digests(pieces.size());
  auto hash = [&](int64_t index, int /*thread*/) {
    const auto i = static_cast<size_t>(index);
    digests[i] = Sha256::Of(pieces[i]);
  };
  pool.ParallelFor(static_cast<int64_t>(pieces.size()), hash);
  Sha256 whole;
  whole.Update(std::as_bytes(std::span(digests)));
  CAIRN_ASSIGN(const std::string config, ReadConfigOf(file, path));
  whole.Update(std::as_bytes(std::span(config)));
  const Sha256::Digest digest = whole.Finish();
  return std::string(reinterpret_cast<const char*>(digest.data()), digest.size());
}

}  // namespace cairn
