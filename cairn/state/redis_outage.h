// Outage: whether to try a server again that could not be reached.
//
// After a failure nothing is tried for a pause, which doubles with each further failure; then one
// request at a time may try, and the first success ends the outage. Times are of any clock. Not
// thread-safe.
#ifndef CAIRN_STATE_REDIS_OUTAGE_H_
#define CAIRN_STATE_REDIS_OUTAGE_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace cairn {

class Outage {
 public:
  Outage(int64_t pause_us, int64_t pause_max_us)
      : first_us_(std::max<int64_t>(pause_us, 1)), most_us_(std::max(pause_max_us, first_us_)) {}

  // Whether a request may go to the server now. Who gets true calls Succeeded or Failed afterwards.
  bool MayTry(int64_t now_us) {
    if (pause_us_ == 0) return true;
    if (is_tried_ || now_us < until_us_) return false;
    is_tried_ = true;
    return true;
  }
  void Succeeded() {
    pause_us_ = 0;
    is_tried_ = false;
    problem_.clear();
  }
  void Failed(int64_t now_us, std::string problem) {
    // Several requests that were on their way at once fail by one outage.
    if (pause_us_ == 0 || is_tried_) {
      pause_us_ = pause_us_ == 0 ? first_us_ : std::min(2 * pause_us_, most_us_);
    }
    until_us_ = now_us + pause_us_;
    is_tried_ = false;
    problem_ = std::move(problem);
  }

  bool is_on() const { return pause_us_ > 0; }
  const std::string& problem() const { return problem_; }

 private:
  int64_t first_us_;
  int64_t most_us_;
  int64_t pause_us_ = 0;  // 0: there is none
  int64_t until_us_ = 0;
  bool is_tried_ = false;
  std::string problem_;
};

}  // namespace cairn

#endif  // CAIRN_STATE_REDIS_OUTAGE_H_
