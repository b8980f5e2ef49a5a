// Answers batches of queries from lists on the device, one batch at a time. Several lanes work at once: while one
// copies, another computes.
#pragma once

#include "intersect.hpp"
#include "rank.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

class Lane {
 public:
  Lane(uint32_t device, uint64_t fail_after) : device_(device), fail_after_(fail_after) {}
  ~Lane() { wait_for_all(); }

  uint32_t device() const { return device_; }

  void wait_for_all() noexcept {
    try {
      queue_.wait();
    } catch (const Failure&) {
      // Told by the call that comes next.
    }
  }

  void intersect(const DeviceLists& lists, const tokapi_batch& given, uint32_t scheme, tokapi_matches& matches) {
    Batch batch = begin(lists, given);
    uint64_t elements = up_.elements();
    switch (scheme) {
      case TOKAPI_PARA: intersecting_.by_para(queue_, batch, given.queries, elements, matches); break;
      case TOKAPI_PART:
        intersecting_.by_part(queue_, batch, given.queries, elements, up_.offsets(), matches);
        break;
      default: throw Failure(TOKAPI_DEVICE_FAILED, "there is no such scheme");
    }
    queue_.wait();
  }

  void rank(const DeviceLists& lists, const tokapi_batch& given, uint32_t k, tokapi_ranked& ranked) {
    Batch batch = begin(lists, given);
    ranking_.rank(queue_, lists, given, batch, k, ranked);
    queue_.wait();
  }

 private:
  Batch begin(const DeviceLists& lists, const tokapi_batch& batch) {
    if (fail_after_ && ++calls_ >= fail_after_) {
      throw Failure(TOKAPI_DEVICE_FAILED, "the device was lost (as the test asked)");
    }
    return up_.bring_up(queue_, lists, batch);
  }

  uint32_t device_;
  Queue queue_;
  BatchOnDevice up_;
  Intersecting intersecting_;
  Ranking ranking_;
  uint64_t fail_after_, calls_ = 0;
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
