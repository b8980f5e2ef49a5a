// The postings lists of an index, on the device: for every list its documents, ascending, with their
// weights, and a table of where the documents of every stretch begin, so that one is found in a step
// or two (hash segmentation: Ao et al., Efficient Parallel Lists Intersection and Index Compression
// Algorithms using Graphics Processing Units, VLDB 2011).
//
// Frequencies stay too, so that another formula costs one pass over the postings.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "each_posting.hpp"
#include "sections.hpp"
#include "weigh.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

// Postings of a list for every entry of its table.
constexpr uint32_t STRETCH_POSTINGS = 8;

constexpr uint64_t NOWHERE = ~uint64_t(0);

// Of lists that are too short for a table.
constexpr uint32_t NO_TABLE = 32;

// How many of the best weights of a list are not below each of its floors.
constexpr uint32_t FLOORS = 3;
TOKAPI_FN constexpr uint32_t floor_rank(uint32_t floor) { return floor == 0 ? 10 : floor == 1 ? 100 : 1000; }
constexpr uint32_t MOST_FLOOR_RANK = floor_rank(FLOORS - 1);

// Lists whose floors are found at a time.
constexpr uint64_t FLOOR_LISTS = 4096;

// What sorts by falling score, documents of the same score ascending.
TOKAPI_FN uint64_t key_of(float score, uint32_t document) {
  uint32_t bits;
  std::memcpy(&bits, &score, sizeof bits);
  uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return (static_cast<uint64_t>(~ascending) << 32) | document;
}

TOKAPI_FN float score_of(uint64_t key) {
  uint32_t ascending = ~static_cast<uint32_t>(key >> 32);
  uint32_t bits = ascending & 0x80000000u ? ascending & 0x7fffffffu : ~ascending;
  float score;
  std::memcpy(&score, &bits, sizeof score);
  return score;
}

// The lists as kernels see them.
struct Lists {
  const List* lists;
  const uint32_t* documents;
  const float* weights;
  const uint32_t* tables;
  // What no weight of a list is above; 0 or more.
  const float* most;
  // What so many of its weights are not below: FLOORS of each list. 0 where it has not so many, or is short; the
  // first is less than 0 where a weight is.
  const float* floors;

  // Where in the list the documents of the stretch that `document` is in are.
  TOKAPI_FN void stretch(const List& list, uint32_t document, uint32_t& from, uint32_t& to) const {
    from = 0;
    to = list.count;
    if (list.shift == NO_TABLE) return;
    const uint32_t* entry = tables + list.table + (document >> list.shift);
    from = entry[0];
    to = entry[1];
  }

  // The first place in the list whose document is not before `document`.
  TOKAPI_FN uint32_t first_not_before(const List& list, uint32_t document) const {
    uint32_t from, to;
    stretch(list, document, from, to);
    const uint32_t* of_list = documents + list.start;
    while (from < to) {
      uint32_t middle = from + (to - from) / 2;
      if (of_list[middle] < document) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from;
  }

  // Where the posting of `document` is, among all; NOWHERE where the list has none.
  TOKAPI_FN uint64_t find(const List& list, uint32_t document) const {
    uint64_t at = list.start + first_not_before(list, document);
    return at < list.start + list.count && documents[at] == document ? at : NOWHERE;
  }
};

// The best weights of lists.
struct BestWeights {
  const List* lists;
  const uint32_t* numbers;
  const float* weights;

  struct OfList {
    const float* weights;
    uint32_t count;

    TOKAPI_FN uint64_t limit() const { return NO_KEY; }
    TOKAPI_FN uint32_t items(uint64_t) const { return count; }
    TOKAPI_FN uint64_t key(uint32_t i, uint64_t) const { return key_of(weights[i], i); }
    TOKAPI_FN void found(uint64_t) const {}
  };

  TOKAPI_FN OfList section(uint64_t s) const {
    const List& list = lists[numbers[s]];
    return OfList{weights + list.start, list.count};
  }
};

// Holds them.
class DeviceLists {
 public:
  explicit DeviceLists(const tokapi_lists_options& options) : device_(options.device), postings_(options.postings) {
    documents_.reserve(options.postings);
    frequencies_.reserve(options.postings);
  }

  uint32_t device() const { return device_; }
  uint64_t count() const { return lists_here_.size(); }

  void wait_for_all() noexcept {
    try {
      queue_.wait();
    } catch (const Failure&) {
      // Told by the call that comes next.
    }
  }

  // Copies postings to their places, by a queue of the caller.
  void load(Queue& queue, const uint32_t* documents, const uint8_t* frequencies, uint64_t count, uint64_t place) {
    if (place > postings_ || count > postings_ - place) {
      throw Failure(TOKAPI_TOO_LARGE, "more postings than were announced");
    }
    upload(queue, documents_.data() + place, documents, count * sizeof(uint32_t));
    upload(queue, frequencies_.data() + place, frequencies, count);
  }

  // Says which postings are whose. Enough for lists that are added to others.
  void describe(const tokapi_lists& lists) {
    lay_out(lists);
    keep(lists_, lists_here_.data(), lists.count);
    queue_.wait();
  }

  // The same for lists that are asked: says also of what documents, and makes the tables.
  void finish(const tokapi_lists& lists) {
    lay_out(lists);
    documents_count_ = lists.documents;
    uint64_t tables = 0;
    for (uint64_t number = 0; number < lists.count; number++) {
      List& list = lists_here_[number];
      list.shift = shift_of(list.count);
      list.table = tables;
      if (list.shift != NO_TABLE) tables += entries(documents_count_, list.shift);
      if (list.count >= MOST_FLOOR_RANK) long_lists_here_.push_back(static_cast<uint32_t>(number));
    }
    keep(long_lists_, long_lists_here_.data(), long_lists_here_.size());
    keep(lists_, lists_here_.data(), lists.count);
    keep(lengths_, lists.lengths, lists.documents);
    tables_.reserve(tables);
    weights_.reserve(postings_);
    most_.reserve(lists.count);
    floors_.reserve(lists.count * FLOORS);
    fill_tables();
    queue_.wait();
  }

  // Weighs all postings.
  void weigh(const tokapi_formula& formula) {
    keep(idf_, formula.idf, count());
    double* norms = norms_.reserve(documents_count_);
    const uint32_t* lengths = lengths_.data();
    double b = formula.b, avdl = formula.avdl;
    for_each(queue_, documents_count_, [=] TOKAPI_LAMBDA(uint64_t d) {
      norms[d] = 1.0 - b + b * static_cast<double>(lengths[d]) / avdl;
    });
    weigher_ = Weigher{formula.tf_part, formula.k1, formula.delta, idf_.data(), norms};
    fill(queue_, most_.data(), 0, count() * sizeof(float));
    fill(queue_, floors_.data(), 0, count() * FLOORS * sizeof(float));
    weigh_postings(all());
    find_floors(long_lists_, long_lists_here_.size());
    queue_.wait();
  }

  // Weighs the postings of some lists by other values of idf, after `weigh` has weighed all.
  void weigh_some(const tokapi_some_idf& some) {
    std::vector<uint32_t> long_lists;
    for (uint64_t i = 0; i < some.count; i++) {
      if (list(some.lists[i]).count >= MOST_FLOOR_RANK) long_lists.push_back(some.lists[i]);
    }
    keep(some_, some.lists, some.count);
    keep(some_idf_, some.idf, some.count);
    keep(some_long_lists_, long_lists.data(), long_lists.size());
    const uint32_t* numbers = some_.data();
    const double* some_idf = some_idf_.data();
    double* idf = idf_.data();
    float *most = most_.data(), *floors = floors_.data();
    for_each(queue_, some.count, [=] TOKAPI_LAMBDA(uint64_t i) {
      uint64_t list = numbers[i];
      idf[list] = some_idf[i];
      most[list] = 0.0f;
      for (uint32_t floor = 0; floor < FLOORS; floor++) floors[list * FLOORS + floor] = 0.0f;
    });
    weigh_postings(SomeLists{lists_here_.data(), lists_.data(), some.lists, numbers, some.count});
    find_floors(some_long_lists_, long_lists.size());
    queue_.wait();
  }

  Lists view() const {
    return Lists{lists_.data(), documents_.data(), weights_.data(), tables_.data(), most_.data(), floors_.data()};
  }
  const List& list(uint32_t number) const { return lists_here_[number]; }
  SomeLists all() const { return SomeLists{lists_here_.data(), lists_.data(), nullptr, nullptr, count()}; }

  // What is where, for those that make other lists of these.
  uint64_t postings() const { return postings_; }
  uint32_t* documents() const { return documents_.data(); }
  uint8_t* frequencies() const { return frequencies_.data(); }
  const uint64_t* large_places() const { return large_places_.data(); }
  const uint32_t* large_frequencies() const { return large_frequencies_.data(); }
  uint64_t large_count() const { return large_count_; }

  // Device memory for so many postings in so many lists of so many documents.
  static uint64_t bytes(uint64_t postings, uint64_t lists, uint64_t documents) {
    // Document, weight and frequency, and a table's part.
    uint64_t of_postings = postings * (4 + 4 + 1) + postings * 4 / STRETCH_POSTINGS;
    // What it is, two more entries of its table, its largest weight and floors, its idf, where it begins in a slice;
    // its number and its idf where some are weighed.
    uint64_t of_lists = lists * (sizeof(List) + 2 * 4 + 4 + FLOORS * 4 + 8 + 4 + 4 + 8);
    uint64_t long_lists = postings / MOST_FLOOR_RANK;
    of_lists += long_lists * 2 * 4 + std::min(long_lists, FLOOR_LISTS) * (MOST_FLOOR_RANK * 8 + 4);
    uint64_t of_documents = documents * (4 + 8);
    // Where slices begin and the tiles of that, large frequencies, and that allocations are rounded up.
    return of_postings + of_lists + of_documents + postings / TILE * 4 + (uint64_t(64) << 20);
  }

  // The steps of the above. Public because functions with kernels in them must be.

  // Those of a table: one more than there are stretches.
  TOKAPI_FN static uint64_t entries(uint64_t documents, uint32_t shift) { return (documents >> shift) + 2; }

  uint32_t shift_of(uint64_t count) const {
    if (count <= 2 * STRETCH_POSTINGS) return NO_TABLE;
    uint32_t shift = 0;
    while ((uint64_t(documents_count_) >> shift) > count / STRETCH_POSTINGS) shift++;
    return shift;
  }

  template <class T>
  void keep(Whole<T>& to, const T* from, uint64_t count) {
    upload(queue_, to.reserve(count), from, count * sizeof(T));
  }

  // function(list, place in the list, place among all) for every posting.
  template <class F>
  void for_each_posting(F function) {
    each_posting_(queue_, all(), function);
  }

  // Weighs these lists' postings, and finds the largest weights, which begin at 0.
  void weigh_postings(SomeLists some) {
    Weigher weigher = weigher_;
    const uint32_t* documents = documents_.data();
    const uint8_t* frequencies = frequencies_.data();
    const uint64_t* large_places = large_places_.data();
    const uint32_t* large_frequencies = large_frequencies_.data();
    uint64_t large_count = large_count_;
    float *weights = weights_.data(), *floors = floors_.data();
    uint32_t* most = reinterpret_cast<uint32_t*>(most_.data());
    each_posting_(queue_, some, [=] TOKAPI_LAMBDA(uint64_t list, uint64_t, uint64_t at) {
      uint32_t frequency = frequencies[at];
      if (frequency == 255) frequency = large_frequencies[upper_bound(large_places, 0, large_count, at) - 1];
      // No weight is -0, which stands for no weight in sums.
      float weight = 0.0f + weigher.weight(static_cast<uint32_t>(list), documents[at], frequency);
      weights[at] = weight;
      // Weights less than 0 bound nothing. Those above order as their bits do.
      if (weight < 0.0f) floors[list * FLOORS] = -1.0f;
      uint32_t bits;
      std::memcpy(&bits, &weight, sizeof bits);
      // Mostly it is not above.
      if (weight > 0.0f && bits > most[list]) raise(most + list, bits);
    });
  }

  // Every posting fills the entries from the stretch of the one before it, the last those to the end.
  void fill_tables() {
    const List* lists = lists_.data();
    const uint32_t* documents = documents_.data();
    uint32_t* tables = tables_.data();
    uint64_t documents_count = documents_count_;
    for_each_posting([=] TOKAPI_LAMBDA(uint64_t number, uint64_t place, uint64_t at) {
      const List& list = lists[number];
      if (list.shift == NO_TABLE) return;
      uint32_t* table = tables + list.table;
      uint64_t from = place ? (documents[at - 1] >> list.shift) + 1 : 0, to = documents[at] >> list.shift;
      for (uint64_t entry = from; entry <= to; entry++) table[entry] = static_cast<uint32_t>(place);
      if (place + 1 < list.count) return;
      uint64_t end = entries(documents_count, list.shift);
      for (uint64_t entry = to + 1; entry < end; entry++) table[entry] = list.count;
    });
  }

  // Of long lists, as others have few documents to leave out.
  void find_floors(const Whole<uint32_t>& long_lists, uint64_t long_count) {
    uint64_t* keys = floor_keys_.reserve(std::min<uint64_t>(long_count, FLOOR_LISTS) * MOST_FLOOR_RANK);
    uint32_t* kept = floors_kept_.reserve(std::min<uint64_t>(long_count, FLOOR_LISTS));
    float* floors = floors_.data();
    for (uint64_t from = 0; from < long_count; from += FLOOR_LISTS) {
      uint64_t count = std::min<uint64_t>(long_count - from, FLOOR_LISTS);
      const uint32_t* numbers = long_lists.data() + from;
      best_keys(queue_, count, BestWeights{lists_.data(), numbers, weights_.data()}, MOST_FLOOR_RANK, keys, kept);
      for_each(queue_, count, [=] TOKAPI_LAMBDA(uint64_t i) {
        float* of_list = floors + numbers[i] * uint64_t(FLOORS);
        if (of_list[0] < 0.0f) return;
        for (uint32_t floor = 0; floor < FLOORS; floor++) {
          of_list[floor] = score_of(keys[i * MOST_FLOOR_RANK + floor_rank(floor) - 1]);
        }
      });
    }
  }

 private:
  void lay_out(const tokapi_lists& lists) {
    if (lists.starts[lists.count] != postings_) {
      throw Failure(TOKAPI_DEVICE_FAILED, "other postings than were announced");
    }
    lists_here_.resize(lists.count);
    for (uint64_t number = 0; number < lists.count; number++) {
      uint64_t start = lists.starts[number];
      lists_here_[number] = List{start, 0, static_cast<uint32_t>(lists.starts[number + 1] - start), NO_TABLE};
    }
    keep(large_places_, lists.large_places, lists.large_count);
    keep(large_frequencies_, lists.large_frequencies, lists.large_count);
    large_count_ = lists.large_count;
  }

  uint32_t device_;
  Queue queue_;
  EachPosting each_posting_;
  uint64_t postings_, large_count_ = 0;
  uint32_t documents_count_ = 0;
  std::vector<List> lists_here_;
  std::vector<uint32_t> long_lists_here_;
  Whole<List> lists_;
  Whole<uint32_t> documents_, lengths_, tables_, large_frequencies_;
  Whole<uint32_t> long_lists_, floors_kept_, some_, some_long_lists_;
  Whole<uint64_t> large_places_, floor_keys_;
  Whole<uint8_t> frequencies_;
  Whole<float> weights_, most_, floors_;
  Whole<double> norms_, idf_, some_idf_;
  Weigher weigher_{};
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
