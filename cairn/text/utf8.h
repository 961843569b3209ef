// UTF-8: validation, and decoding of a stream of bytes into complete characters.
//
// Bytes that are no UTF-8 become U+FFFD, one for each longest prefix of a character (what the
// Unicode standard recommends in its section 3.9, and Python and Rust do).
#ifndef CAIRN_TEXT_UTF8_H_
#define CAIRN_TEXT_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace cairn {

// Offset of the first byte that isn't part of valid UTF-8; npos if all is valid.
size_t FindInvalidUtf8(std::string_view text);

// Text of a file for a message: shortened, and without line breaks or other control characters.
std::string ForMessage(std::string_view text);

// Passes on complete characters only. The texts of all calls together are valid UTF-8.
class Utf8Stream {
 public:
  std::string Push(std::string_view bytes);
  // Ends the stream: an unfinished character becomes U+FFFD. The stream can be used again.
  std::string Flush();

 private:
  std::string pending_;  // the first 1 to 3 bytes of a character
};

}  // namespace cairn

#endif  // CAIRN_TEXT_UTF8_H_
