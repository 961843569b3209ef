// RedisServer: a real redis-server of a test's own, that can be stopped, killed and started again.
#ifndef CAIRN_STATE_REDIS_SERVER_FOR_TESTS_H_
#define CAIRN_STATE_REDIS_SERVER_FOR_TESTS_H_

#include <fmt/format.h>

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cairn/base/check.h"
#include "cairn/base/child_process_for_tests.h"
#include "cairn/base/env.h"
#include "cairn/base/tcp_server_for_tests.h"
#include "cairn/base/temp_folder_for_tests.h"
#include "cairn/state/redis_connection.h"

namespace cairn {

class RedisServer {
 public:
  static bool IsInstalled() { return FindProgram("redis-server").has_value(); }

  // Runs from now on. `options` as on its command line; it keeps nothing on the disk unless they
  // say so.
  explicit RedisServer(std::vector<std::string> options = {}) : options_(std::move(options)) {
    {
      const TcpServer taken([](const TcpClientOfTest&) {});
      port_ = taken.port();
    }
    Start();
  }

  std::string url() const { return fmt::format("redis://127.0.0.1:{}", port_); }

  void Start() {
    std::vector<std::string> command = {*FindProgram("redis-server"),
                                        "--port",
                                        fmt::format("{}", port_),
                                        "--bind",
                                        "127.0.0.1",
                                        "--dir",
                                        folder_.path(),
                                        "--save",
                                        ""};
    command.insert(command.end(), options_.begin(), options_.end());
    process_.emplace(std::move(command));
    const int64_t deadline_us = NowMicroseconds() + 20'000'000;
    while (!RedisConnection::Open(Address(), NowMicroseconds() + 1'000'000)) {
      CAIRN_CHECK(NowMicroseconds() < deadline_us);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  // As a crash would: what it held is gone.
  void Kill() { process_->Kill(); }
  ChildProcess& process() { return *process_; }

  // Any command, on a connection of its own.
  RedisReply Command(std::initializer_list<std::string_view> arguments) {
    const int64_t deadline_us = NowMicroseconds() + 10'000'000;
    auto connection = RedisConnection::Open(Address(), deadline_us);
    CAIRN_CHECK(connection);
    RedisCommands commands;
    commands.Add(arguments);
    CAIRN_CHECK(connection->Send(commands, deadline_us));
    auto reply = connection->Receive(deadline_us);
    CAIRN_CHECK(reply);
    return *std::move(reply);
  }

 private:
  RedisUrl Address() const {
    RedisUrl address;
    address.host = "127.0.0.1";
    address.port = port_;
    return address;
  }

  std::vector<std::string> options_;
  TempFolder folder_;
  uint16_t port_ = 0;
  std::optional<ChildProcess> process_;
};

}  // namespace cairn

#endif  // CAIRN_STATE_REDIS_SERVER_FOR_TESTS_H_
