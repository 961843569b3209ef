#include "cairn/text/stream_decoder.h"

namespace cairn {

std::string StreamDecoder::Push(TokenId id) {
  if (skip_special_ && table_->IsSpecial(id)) return {};
  std::string_view bytes = table_->Bytes(id);
  while (spaces_to_drop_ > 0 && !bytes.empty()) {
    if (bytes[0] != ' ') {
      spaces_to_drop_ = 0;
      break;
    }
    bytes.remove_prefix(1);
    --spaces_to_drop_;
  }
  return characters_.Push(bytes);
}

std::string StreamDecoder::Flush() { return characters_.Flush(); }

}  // namespace cairn
