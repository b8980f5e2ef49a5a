// The time that the stages of a call take, where they are timed.
#pragma once

#include <chrono>

#include "platform.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

class Stopwatch {
 public:
  explicit Stopwatch(bool on) : on_(on) {}

  void start() { started_ = std::chrono::steady_clock::now(); }

  // Waits for the queue, and adds the milliseconds since the last call to `stage`.
  void add(Queue& queue, double& stage) {
    if (!on_) return;
    queue.wait();
    auto now = std::chrono::steady_clock::now();
    stage += std::chrono::duration<double, std::milli>(now - started_).count();
    start();
  }

 private:
  bool on_;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
