// ChildProcess: another program that a test runs beside itself and may kill.
#ifndef CAIRN_BASE_CHILD_PROCESS_FOR_TESTS_H_
#define CAIRN_BASE_CHILD_PROCESS_FOR_TESTS_H_

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/base/env.h"

namespace cairn {

// The path of a program that PATH leads to.
inline std::optional<std::string> FindProgram(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  std::string folder;
  while (std::getline(folders, folder, ':')) {
    const std::string candidate = folder + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0 && !IsDirectory(candidate)) return candidate;
  }
  return std::nullopt;
}

// What it prints is dropped. Killed at the end, if it still runs.
class ChildProcess {
 public:
  explicit ChildProcess(std::vector<std::string> command) {
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    const int problem =
        ::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    CAIRN_CHECK(problem == 0);
  }
  ~ChildProcess() { Kill(); }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // At once, as a crash would end it.
  void Kill() { End(SIGKILL); }
  // As it ends when it is asked to.
  void Stop() { End(SIGTERM); }
  // Neither ends nor answers, until Resume.
  void Pause() const { ::kill(pid_, SIGSTOP); }
  void Resume() const { ::kill(pid_, SIGCONT); }

 private:
  void End(int signal) {
    if (pid_ <= 0) return;
    ::kill(pid_, signal);
    ::kill(pid_, SIGCONT);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
  }

  pid_t pid_ = -1;
};

}  // namespace cairn

#endif  // CAIRN_BASE_CHILD_PROCESS_FOR_TESTS_H_
