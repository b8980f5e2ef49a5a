// MapReduce on a device, as Mars does it (He, Fang, Luo, Govindaraju and Wang, PACT 2008): a thread
// maps a record, or a unit of another size that `map` chooses, twice. The first time its pairs are
// counted, a scan tells where they go, and the second time they are written. Pairs are sorted; those of one key are a group. Mars has a thread
// reduce each; here a thread makes each value, of which a group may have many, because the groups of
// text are of very different sizes.
#pragma once

#include "records.hpp"
#include "slices.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

// The records of a chunk: record r is bytes[starts[r]] up to bytes[starts[r + 1]]. All are between `from` and
// `until`, which the host knows.
struct Records {
  const uint8_t* bytes;
  const uint32_t* starts;
  uint64_t count;
  uint32_t from, until;
};

// A pair. A key is two words, or text: then `key` is the first 8 bytes of the slice `rest`.
struct Emitted {
  uint64_t key, rest, value;
};

// What a key and a value are, and so how pairs are ordered: by key, then by value.
struct PairKind {
  // Whether keys, and values, are slices.
  bool text_keys, text_values;
  // Whether pairs of a key may be emitted in another order than that of their values.
  bool values_unordered;
  // Bits of a value that belong to the key.
  uint64_t key_bits;

  TOKAPI_FN int compare_keys(const uint8_t* text, const Emitted& a, const Emitted& b) const {
    if (a.key != b.key) return a.key < b.key ? -1 : 1;
    if (text_keys) return compare_slices(text, a.rest, b.rest, 8);
    return a.rest == b.rest ? 0 : a.rest < b.rest ? -1 : 1;
  }
  TOKAPI_FN bool same_key(const uint8_t* text, const Emitted& a, const Emitted& b) const {
    return compare_keys(text, a, b) == 0 && ((a.value ^ b.value) & key_bits) == 0;
  }
};

struct BeforeInOrder {
  PairKind kind;
  const uint8_t* text;
  TOKAPI_FN bool operator()(const Emitted& a, const Emitted& b) const {
    int order = kind.compare_keys(text, a, b);
    if (order != 0) return order < 0;
    if (kind.text_values) return compare_slices(text, a.value, b.value, 0) < 0;
    return a.value < b.value;
  }
};

// What `map` gives its pairs to, the first time and the second time. It may leave a record to the host,
// and write words about it: its note.
struct CountingPairs {
  static constexpr bool WRITES = false;
  uint64_t count = 0;
  bool left = false;
  TOKAPI_FN void text(uint64_t, uint64_t) { count++; }
  TOKAPI_FN void words(uint64_t, uint64_t, uint64_t) { count++; }
  TOKAPI_FN void leave() { left = true; }
  TOKAPI_FN void note(uint32_t, uint64_t) {}
};
struct WritingPairs {
  static constexpr bool WRITES = true;
  const uint8_t* bytes;
  Emitted* next;
  uint64_t* of_record;
  TOKAPI_FN void text(uint64_t slice, uint64_t value) { *next++ = Emitted{slice_word(bytes, slice, 0), slice, value}; }
  TOKAPI_FN void words(uint64_t key, uint64_t rest, uint64_t value) { *next++ = Emitted{key, rest, value}; }
  TOKAPI_FN void leave() {}
  TOKAPI_FN void note(uint32_t i, uint64_t word) { of_record[i] = word; }
};

// Keys of up to so many words are sorted by radix, longer ones by merging.
constexpr uint32_t MOST_RADIX_WORDS = 64;

class Mars {
 public:
  // Counts the pairs of all records, and gives their number.
  template <class Map>
  uint64_t count(Queue& queue, const Map& map, const Records& records) {
    uint64_t units = map.units(records);
    uint64_t* counts = counts_.reserve(units);
    uint64_t* firsts = firsts_.reserve(units + 1);
    uint32_t* left = is_left_.reserve(units);
    for_each(queue, units, [=] TOKAPI_LAMBDA(uint64_t u) {
      CountingPairs emit;
      map(records, u, emit);
      counts[u] = emit.left ? 0 : emit.count;
      left[u] = emit.left;
    });
    scan(queue, units, [=] TOKAPI_LAMBDA(uint64_t u) { return counts[u]; }, firsts);
    compact(queue, units, [=] TOKAPI_LAMBDA(uint32_t u) { return left[u] != 0; }, left_.reserve(units),
            left_count_.reserve(1));
    tell(queue, pairs_here_.reserve(1), firsts + units, 1);
    tell(queue, left_here_.reserve(1), left_count_.data(), 1);
    queue.wait();
    pair_count_ = *pairs_here_.data();
    return pair_count_;
  }

  // Writes the pairs that were counted, with `note_words` words about every record.
  template <class Map>
  void emit(Queue& queue, const Map& map, const Records& records, uint32_t note_words) {
    Emitted* pairs = pairs_.reserve(pair_count_);
    const uint64_t* firsts = firsts_.data();
    const uint32_t* left = is_left_.data();
    uint64_t* notes = notes_.reserve(records.count * note_words);
    if (note_words) fill(queue, notes, 0, records.count * note_words * sizeof(uint64_t));
    for_each(queue, map.units(records), [=] TOKAPI_LAMBDA(uint64_t u) {
      if (left[u]) return;
      WritingPairs emit{records.bytes, pairs + firsts[u], notes + u * note_words};
      map(records, u, emit);
    });
  }

  void sort(Queue& queue, const PairKind& kind, const uint8_t* text, uint32_t algorithm) {
    kind_ = kind;
    text_ = text;
    BeforeInOrder before{kind, text};
    switch (algorithm) {
      case TOKAPI_RADIX: return sort_by_radix(queue);
      case TOKAPI_MERGE: return merge_sort(queue, pairs_.data(), pair_count_, before);
      case TOKAPI_BITONIC: return bitonic_sort(queue, pairs_.data(), pair_count_, before);
      default: throw Failure(TOKAPI_DEVICE_FAILED, "there is no such algorithm");
    }
  }

  // Finds the groups, and gives their number.
  uint64_t group(Queue& queue) {
    const Emitted* pairs = pairs_.data();
    PairKind kind = kind_;
    const uint8_t* text = text_;
    groups_ = find_runs(queue, group_starts_, [=] TOKAPI_LAMBDA(uint32_t i) {
      return !kind.same_key(text, pairs[i - 1], pairs[i]);
    });
    return groups_;
  }

  // Reduces every group, and gives the number of values that there are then.
  template <class Reduce>
  uint64_t reduce(Queue& queue, const Reduce& reduce) {
    const Emitted* pairs = pairs_.data();
    PairKind kind = kind_;
    const uint8_t* text = text_;
    uint64_t count = find_runs(queue, span_starts_, [=] TOKAPI_LAMBDA(uint32_t i) {
      return reduce.begins(pairs[i - 1], pairs[i]) || !kind.same_key(text, pairs[i - 1], pairs[i]);
    });
    uint64_t* sums = sums_.reserve(Reduce::SUMS ? pair_count_ + 1 : 0);
    if (Reduce::SUMS) scan(queue, pair_count_, [=] TOKAPI_LAMBDA(uint64_t i) { return pairs[i].value; }, sums);
    const uint32_t* spans = span_starts_.data();
    uint64_t* values = values_.reserve(count);
    for_each(queue, count, [=] TOKAPI_LAMBDA(uint64_t v) {
      values[v] = reduce(pairs, sums, spans[v], spans[v + 1]);
    });
    const uint32_t* groups = group_starts_.data();
    uint32_t* firsts = value_starts_.reserve(groups_ + 1);
    for_each(queue, groups_ + 1, [=] TOKAPI_LAMBDA(uint64_t g) {
      firsts[g] = static_cast<uint32_t>(upper_bound(spans, 0, count + 1, groups[g]) - 1);
    });
    return count;
  }

  const Emitted* pairs() const { return pairs_.data(); }
  // Where every group begins among the pairs.
  const uint32_t* group_starts() const { return group_starts_.data(); }
  // Where its values begin among `values`, once it has been reduced; there is one more.
  const uint32_t* value_starts() const { return value_starts_.data(); }
  const uint64_t* values() const { return values_.data(); }
  const uint64_t* notes() const { return notes_.data(); }
  // The records that are left to the host, and how many.
  const uint32_t* left() const { return left_.data(); }
  uint64_t left_count() const { return *left_here_.data(); }

  // Device memory for so many pairs, at most.
  static uint64_t pair_bytes(uint64_t pairs) {
    // Pairs twice, the words, places and order of sorting twice, groups with their values, and sums.
    uint64_t bytes = pairs * (2 * sizeof(Emitted) + 2 * 8 + 2 * 4 + 4 + 4 + 4 + 8 + 16 + 8);
    // What grows takes an eighth more than it must; merging needs as much again as it sorts.
    return bytes + bytes / 8 + pairs * sizeof(Emitted);
  }

  // The steps of the above. Public because functions with kernels in them must be.

  // Finds where runs of pairs start, pair i being in another than the one before if `differs`; gives their number,
  // and ends them with that of the pairs.
  template <class F>
  uint64_t find_runs(Queue& queue, Buffer<uint32_t>& into, F differs) {
    uint64_t count = pair_count_;
    uint32_t* starts = into.reserve(count + 1);
    count_runs(queue, count, differs, starts, run_count_.reserve(1));
    tell(queue, runs_here_.reserve(1), run_count_.data(), 1);
    queue.wait();
    uint64_t runs = *runs_here_.data();
    for_each(queue, 1, [=] TOKAPI_LAMBDA(uint64_t) { starts[runs] = static_cast<uint32_t>(count); });
    return runs;
  }

  // From the last word that pairs differ by to the first, each time stably; what is moved are places.
  void sort_by_radix(Queue& queue) {
    uint64_t count = pair_count_;
    Emitted* pairs = pairs_.data();
    PairKind kind = kind_;
    uint32_t* order = order_.reserve(count);
    for_each(queue, count, [=] TOKAPI_LAMBDA(uint64_t i) { order[i] = static_cast<uint32_t>(i); });
    bool can = true;
    if (kind.text_values) {
      can = order_by_slices(queue, [=] TOKAPI_LAMBDA(uint32_t i) { return pairs[i].value; });
    } else if (kind.values_unordered) {
      order_by(queue, 0, [=] TOKAPI_LAMBDA(uint32_t i) { return pairs[i].value; });
    }
    if (can && kind.text_keys) {
      can = order_by_slices(queue, [=] TOKAPI_LAMBDA(uint32_t i) { return pairs[i].rest; });
    } else if (can) {
      order_by(queue, 0, [=] TOKAPI_LAMBDA(uint32_t i) { return pairs[i].rest; });
      order_by(queue, 0, [=] TOKAPI_LAMBDA(uint32_t i) { return pairs[i].key; });
    }
    if (!can) return merge_sort(queue, pairs, count, BeforeInOrder{kind, text_});
    Emitted* others = others_.reserve(count);
    for_each(queue, count, [=] TOKAPI_LAMBDA(uint64_t i) { others[i] = pairs[order[i]]; });
    std::swap(pairs_, others_);
  }

  // Orders those from place `from` on by a word.
  template <class F>
  void order_by(Queue& queue, uint64_t from, F word) {
    uint64_t count = pair_count_ - from;
    uint64_t* words = words_.reserve(pair_count_) + from;
    uint64_t* other_words = other_words_.reserve(pair_count_) + from;
    uint32_t* order = order_.data() + from;
    uint32_t* other_order = other_order_.reserve(pair_count_) + from;
    for_each(queue, count, [=] TOKAPI_LAMBDA(uint64_t i) { words[i] = word(order[i]); });
    sort_pairs(queue, words, other_words, order, other_order, count);
    copy(queue, order, other_order, count * sizeof(uint32_t));
  }

  // Orders all by slices; false where one is too long. First by length: then those with a word
  // number k are the last ones, and of slices that agree in all words the shorter stay in front.
  template <class F>
  bool order_by_slices(Queue& queue, F slice) {
    uint64_t count = pair_count_;
    if (count == 0) return true;
    order_by(queue, 0, [=] TOKAPI_LAMBDA(uint32_t i) { return static_cast<uint64_t>(slice_length(slice(i))); });
    const uint64_t* lengths = other_words_.data();
    uint64_t* ends = ends_here_.reserve(MOST_RADIX_WORDS + 1);
    for_each(queue, MOST_RADIX_WORDS + 1, [=] TOKAPI_LAMBDA(uint64_t k) {
      ends[k] = upper_bound(lengths, 0, count, 8 * k);
    });
    queue.wait();
    if (ends[MOST_RADIX_WORDS] < count) return false;
    const uint8_t* text = text_;
    for (uint32_t k = MOST_RADIX_WORDS; k-- > 0;) {
      if (ends[k] == count) continue;
      order_by(queue, ends[k], [=] TOKAPI_LAMBDA(uint32_t i) { return slice_word(text, slice(i), 8 * k); });
    }
    return true;
  }

 private:
  PairKind kind_{};
  const uint8_t* text_ = nullptr;
  uint64_t pair_count_ = 0, groups_ = 0;
  Buffer<Emitted> pairs_, others_;
  Buffer<uint64_t> counts_, firsts_, notes_, words_, other_words_, sums_, values_;
  Buffer<uint32_t> is_left_, left_, left_count_, order_, other_order_;
  Buffer<uint32_t> group_starts_, span_starts_, run_count_, value_starts_;
  Pinned<uint64_t> pairs_here_, ends_here_;
  Pinned<uint32_t> left_here_, runs_here_;
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
