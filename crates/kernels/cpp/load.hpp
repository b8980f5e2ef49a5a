// Brings postings up to the device: one half of a loader is copied while its owner fills the other. Several loaders,
// each on a thread of its own, fill the same lists.
#pragma once

#include "lists.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

class Loader {
 public:
  Loader(DeviceLists& lists, uint64_t postings) : lists_(lists), postings_(postings) {
    for (Half& half : halves_) {
      std::memset(half.documents.reserve(postings), 0, postings * sizeof(uint32_t));
      std::memset(half.frequencies.reserve(postings), 0, postings);
    }
  }
  ~Loader() { wait_for_all(); }

  uint32_t device() const { return lists_.device(); }

  void wait_for_all() noexcept {
    try {
      queue_.wait();
    } catch (const Failure&) {
      // Told by the call that comes next.
    }
  }

  // Where the next postings are written, once what was there before has been copied.
  tokapi_room room() {
    Half& half = halves_[next_];
    half.copied.wait();
    return tokapi_room{half.documents.data(), half.frequencies.data(), postings_};
  }

  // Copies the first `count` of them to their places. They may be on their way when this returns.
  void load(uint64_t place, uint64_t count) {
    Half& half = halves_[next_];
    if (count > postings_) throw Failure(TOKAPI_TOO_LARGE, "more postings than there is room for");
    lists_.load(queue_, half.documents.data(), half.frequencies.data(), count, place);
    half.copied.record(queue_);
    next_ = 1 - next_;
  }

  // Waits until everything has been copied.
  void finish() { queue_.wait(); }

 private:
  struct Half {
    Pinned<uint32_t> documents;
    Pinned<uint8_t> frequencies;
    Event copied;
  };

  DeviceLists& lists_;
  uint64_t postings_;
  Queue queue_;
  Half halves_[2];
  uint32_t next_ = 0;
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
