// TempFolder: a new empty folder for one test, removed with all that is in it.
#ifndef CAIRN_BASE_TEMP_FOLDER_FOR_TESTS_H_
#define CAIRN_BASE_TEMP_FOLDER_FOR_TESTS_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "cairn/base/env.h"

namespace cairn {

class TempFolder {
 public:
  TempFolder()
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("cairn_test_{:016x}", RandomSeed())) {
    std::filesystem::create_directory(path_);
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string path() const { return path_.string(); }
  // The path of a file in the folder.
  std::string File(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace cairn

#endif  // CAIRN_BASE_TEMP_FOLDER_FOR_TESTS_H_
