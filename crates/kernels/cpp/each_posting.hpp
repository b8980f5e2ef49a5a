// Walks over the postings of lists, all or some of them.
#pragma once

#include "primitives.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

// Postings that are gone through at a time.
constexpr uint64_t SLICE_POSTINGS = uint64_t(1) << 30;

struct List {
  uint64_t start, table;
  uint32_t count, shift;
};

// Lists to go through: the first `count`, or those of so many `numbers`. Each array stands on the host and on the device.
struct SomeLists {
  const List *here, *there;
  const uint32_t *numbers_here, *numbers_there;
  uint64_t count;

  uint64_t postings(uint64_t i) const { return here[numbers_here ? numbers_here[i] : i].count; }
};

class EachPosting {
 public:
  // function(list, place in the list, place among all) for every posting.
  template <class F>
  void operator()(Queue& queue, SomeLists some, F function) {
    for (uint64_t first = 0, end = 0; first < some.count; first = end) {
      uint64_t postings = 0;
      while (end < some.count && (end == first || postings + some.postings(end) <= SLICE_POSTINGS)) {
        postings += some.postings(end++);
      }
      const List* lists = some.there;
      const uint32_t* numbers = some.numbers_there;
      uint32_t* offsets = offsets_.reserve(end - first + 1);
      scan(queue, end - first, [=] TOKAPI_LAMBDA(uint64_t i) {
        return lists[numbers ? numbers[first + i] : first + i].count;
      }, offsets);
      uint32_t* tiles = tiles_.reserve(postings / TILE + 2);
      load_balancing_search(queue, offsets, end - first, postings, tiles,
                            [=] TOKAPI_LAMBDA(uint64_t i, uint64_t segment) {
        uint64_t number = numbers ? numbers[first + segment] : first + segment, place = i - offsets[segment];
        function(number, place, lists[number].start + place);
      });
    }
  }

 private:
  Whole<uint32_t> offsets_, tiles_;
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
