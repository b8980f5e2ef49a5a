// The best documents of each query of a batch, exactly.
//
// Queries with terms that documents must have: the elements of the shortest lists, in sections, as PARA takes
// them. Queries without: windows of documents, whose scores are added up in fast memory term by term; the
// windows that promise most come first, and those that cannot bring a better document are left out. Every
// section gives its best, which go together with those that the query had.
#pragma once

#include "batch.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

// Elements of a shortest list in a section.
constexpr uint32_t SECTION_ELEMENTS = 4096;

// Windows of a query that are looked at first.
constexpr uint32_t FIRST_WINDOWS = 4;

// Keys of sections that are held at a time.
constexpr uint64_t MOST_SECTION_KEYS = uint64_t(32) << 20;

constexpr uint32_t NO_PAIR = ~uint32_t(0);

struct NothingShared {};

// What sections without rounds have in common.
struct KeysOnly {
  using Shared = NothingShared;
  TOKAPI_FN uint32_t rounds(uint64_t) const { return 0; }
  TOKAPI_FN uint32_t calls(uint64_t, uint32_t) const { return 0; }
  TOKAPI_FN void call(Shared&, uint64_t, uint32_t, uint32_t) const {}
};

// Elements of shortest lists: sections from starts[q] on are of query q; the first is number `from`.
struct ElementSections : KeysOnly {
  Batch batch;
  const uint32_t* starts;
  uint64_t queries, from;
  uint64_t* limits;

  TOKAPI_FN uint64_t query(uint64_t s) const {
    return upper_bound(starts, 0, queries, static_cast<uint32_t>(from + s)) - 1;
  }
  TOKAPI_FN uint64_t first(uint64_t s, uint64_t query) const {
    return batch.offsets[query] + (from + s - starts[query]) * SECTION_ELEMENTS;
  }
  TOKAPI_FN uint64_t limit(uint64_t s) const { return lowered(limits + query(s)); }
  TOKAPI_FN uint32_t items(uint64_t s) const {
    uint64_t of = query(s), left = batch.offsets[of + 1] - first(s, of);
    return static_cast<uint32_t>(left < SECTION_ELEMENTS ? left : SECTION_ELEMENTS);
  }
  TOKAPI_FN uint64_t key(const Shared&, uint64_t s, uint32_t i) const {
    uint64_t of = query(s);
    uint32_t document = batch.document(of, first(s, of) + i);
    return batch.matches(of, document) ? key_of(batch.score(of, document), document) : NO_KEY;
  }
  TOKAPI_FN void found(uint64_t s, uint64_t last) const { lower(limits + query(s), last); }
};

// What a window can bring.
struct WindowBounds {
  Batch batch;

  // What no score in a window is above, rounded up; less than 0 where the query has nothing there.
  TOKAPI_FN float operator()(uint64_t number, uint32_t window) const {
    const tokapi_query query = batch.queries[number];
    double sum = 0.0;
    bool some = false;
    for (uint32_t term = query.first_term; term < query.first_term + query.terms; term++) {
      if (batch.terms[term].occur == TOKAPI_NOT) continue;
      float largest = batch.lists.largest(batch.terms[term].list, window);
      if (largest < 0.0f) continue;
      some = true;
      sum += static_cast<double>(largest) * batch.terms[term].times;
    }
    if (!some) return -1.0f;
    float rounded = static_cast<float>(sum);
    if (static_cast<double>(rounded) < sum) {
      uint32_t bits;
      std::memcpy(&bits, &rounded, sizeof bits);
      bits++;
      std::memcpy(&rounded, &bits, sizeof bits);
    }
    return rounded;
  }
};

// The windows of every query, the most promising first.
struct PromisingWindows : KeysOnly {
  const float* bounds;
  uint32_t windows;

  TOKAPI_FN uint64_t limit(uint64_t) const { return NO_KEY; }
  TOKAPI_FN uint32_t items(uint64_t) const { return windows; }
  TOKAPI_FN uint64_t key(const Shared&, uint64_t query, uint32_t window) const {
    float bound = bounds[query * windows + window];
    return bound < 0.0f ? NO_KEY : key_of(bound, window);
  }
  TOKAPI_FN void found(uint64_t, uint64_t) const {}
};

struct WindowScores {
  double sums[WINDOW];
};

// No term so far: what is added to it gives what is added, which is never -0 itself.
constexpr double NO_SCORE = -0.0;

TOKAPI_FN bool is_score(double sum) {
  uint64_t bits;
  std::memcpy(&bits, &sum, sizeof bits);
  return bits != uint64_t(1) << 63;
}

// Windows of documents: pairs[s] is a query, times the number of windows, and a window.
struct WindowSections {
  using Shared = WindowScores;
  Batch batch;
  const uint32_t* pairs;
  const float* bounds;
  uint64_t* limits;

  TOKAPI_FN uint64_t query(uint64_t s) const { return pairs[s] / batch.lists.windows; }
  TOKAPI_FN uint32_t window(uint64_t s) const { return pairs[s] % batch.lists.windows; }

  TOKAPI_FN uint64_t limit(uint64_t s) const {
    if (pairs[s] == NO_PAIR) return 0;
    uint64_t limit = lowered(limits + query(s));
    // The best that the window could have.
    return key_of(bounds[pairs[s]], window(s) << WINDOW_SHIFT) < limit ? limit : 0;
  }
  TOKAPI_FN uint32_t rounds(uint64_t s) const { return 1 + batch.queries[query(s)].terms; }
  TOKAPI_FN uint32_t calls(uint64_t s, uint32_t round) const {
    if (round == 0) return WINDOW;
    uint32_t from, to;
    batch.lists.window(list(s, round), window(s), from, to);
    return to - from;
  }
  TOKAPI_FN void call(Shared& shared, uint64_t s, uint32_t round, uint32_t i) const {
    if (round == 0) {
      shared.sums[i] = NO_SCORE;
      return;
    }
    uint32_t from, to;
    const List& of_term = list(s, round);
    batch.lists.window(of_term, window(s), from, to);
    uint64_t at = of_term.start + from + i;
    uint32_t place = batch.lists.documents[at] - (window(s) << WINDOW_SHIFT);
    if (place >= WINDOW) return;
    const tokapi_term& term = batch.terms[batch.queries[query(s)].first_term + round - 1];
    if (term.occur == TOKAPI_NOT) {
      shared.sums[place] = NO_SCORE;
    } else {
      shared.sums[place] += static_cast<double>(batch.lists.weights[at]) * term.times;
    }
  }
  TOKAPI_FN uint32_t items(uint64_t) const { return WINDOW; }
  TOKAPI_FN uint64_t key(const Shared& shared, uint64_t s, uint32_t i) const {
    if (!is_score(shared.sums[i])) return NO_KEY;
    return key_of(static_cast<float>(0.0 + shared.sums[i]), (window(s) << WINDOW_SHIFT) + i);
  }
  TOKAPI_FN void found(uint64_t s, uint64_t last) const { lower(limits + query(s), last); }

  TOKAPI_FN const List& list(uint64_t s, uint32_t round) const {
    return batch.list(batch.queries[query(s)].first_term + round - 1);
  }
};

// The best of a query so far, and of its sections: those from starts[q] on.
struct Together : KeysOnly {
  const uint64_t* before;
  const uint32_t* kept_before;
  const uint64_t* keys;
  const uint32_t* kept;
  const uint32_t* starts;
  uint64_t from, to;
  uint32_t k;
  uint64_t* limits;

  // Sections of the query that are at hand.
  TOKAPI_FN uint32_t begin(uint64_t query) const { return clamped(starts[query]); }
  TOKAPI_FN uint32_t clamped(uint32_t section) const {
    return static_cast<uint32_t>((section < from ? from : section > to ? to : section) - from);
  }
  TOKAPI_FN uint64_t limit(uint64_t) const { return NO_KEY; }
  TOKAPI_FN uint32_t items(uint64_t query) const {
    return (1 + clamped(starts[query + 1]) - begin(query)) * k;
  }
  TOKAPI_FN uint64_t key(const Shared&, uint64_t query, uint32_t i) const {
    uint32_t place = i % k;
    if (i < k) return place < kept_before[query] ? before[query * k + place] : NO_KEY;
    uint64_t section = begin(query) + i / k - 1;
    return place < kept[section] ? keys[section * k + place] : NO_KEY;
  }
  TOKAPI_FN void found(uint64_t query, uint64_t last) const { lower(limits + query, last); }
};

class Ranking {
 public:
  // Gives the keys of the best `k` of every query, the best first, once the queue has been waited for.
  void by_elements(Queue& queue, const Batch& batch, uint64_t queries, const uint32_t* offsets, uint32_t k,
                   tokapi_ranked& ranked) {
    begin(queue, queries, k);
    uint32_t* starts_here = starts_here_.reserve(queries + 1);
    uint64_t sections = 0;
    for (uint64_t query = 0; query < queries; query++) {
      starts_here[query] = static_cast<uint32_t>(sections);
      sections += (offsets[query + 1] - offsets[query] + SECTION_ELEMENTS - 1) / SECTION_ELEMENTS;
    }
    starts_here[queries] = static_cast<uint32_t>(sections);
    uint32_t* starts = starts_.reserve(queries + 1);
    upload(queue, starts, starts_here, (queries + 1) * sizeof(uint32_t));
    in_slices(sections, k, [&](uint64_t from, uint64_t to) {
      best_keys(queue, to - from, ElementSections{{}, batch, starts, queries, from, limits_.data()}, k, keys_.data(),
                kept_.data());
      put_together(queue, queries, from, to, k);
    });
    bring_down(queue, queries, k, ranked);
  }

  void by_windows(Queue& queue, const Batch& batch, uint64_t queries, uint32_t k, tokapi_ranked& ranked) {
    begin(queue, queries, k);
    uint32_t windows = batch.lists.windows;
    uint64_t all = queries * windows;
    if (all >= NO_PAIR) throw Failure(TOKAPI_TOO_LARGE, "a batch with 2^32 windows or more");
    float* bounds = bounds_.reserve(all);
    WindowBounds bound{batch};
    for_each(queue, all, [=] TOKAPI_LAMBDA(uint64_t i) {
      bounds[i] = bound(i / windows, static_cast<uint32_t>(i % windows));
    });
    first_windows(queue, batch, queries, k);
    uint64_t* limits = limits_.data();
    uint32_t* pairs = pairs_.reserve(all);
    compact(queue, all, [=] TOKAPI_LAMBDA(uint32_t i) {
      uint32_t first = i % windows << WINDOW_SHIFT;
      return bounds[i] >= 0.0f && key_of(bounds[i], first) < limits[i / windows];
    }, pairs, count_.reserve(1));
    tell(queue, count_here_.reserve(1), count_.data(), 1);
    queue.wait();
    uint64_t count = *count_here_.data();
    uint32_t* starts = starts_.reserve(queries + 1);
    for_each(queue, queries + 1, [=] TOKAPI_LAMBDA(uint64_t query) {
      uint64_t before = query * windows;
      starts[query] = before ? static_cast<uint32_t>(upper_bound(pairs, 0, count, static_cast<uint32_t>(before - 1))) : 0;
    });
    take_windows(queue, batch, queries, pairs, count, k);
    bring_down(queue, queries, k, ranked);
  }

  // The steps of the above. Public because functions with kernels in them must be.

  void begin(Queue& queue, uint64_t queries, uint32_t k) {
    if (k == 0 || k > MOST_KEYS) throw Failure(TOKAPI_TOO_LARGE, "no or too many documents asked for");
    best_.reserve(queries * k);
    fill(queue, best_kept_.reserve(queries), 0, queries * sizeof(uint32_t));
    fill(queue, limits_.reserve(queries), 0xff, queries * sizeof(uint64_t));
  }

  // Calls function(from, to) for sections, as many as there is room for at a time.
  template <class F>
  void in_slices(uint64_t sections, uint32_t k, F function) {
    uint64_t slice = MOST_SECTION_KEYS / k;
    uint64_t most = std::min(slice, sections);
    keys_.reserve(most * k);
    kept_.reserve(most);
    for (uint64_t from = 0; from < sections; from += slice) function(from, std::min(from + slice, sections));
  }

  // Puts the best of sections from `from` to `to`, of query q from starts_[q] on, together with those
  // that queries had.
  void put_together(Queue& queue, uint64_t queries, uint64_t from, uint64_t to, uint32_t k) {
    Together together{{},             best_.data(), best_kept_.data(), keys_.data(), kept_.data(),
                      starts_.data(), from,         to,                k,            limits_.data()};
    best_keys(queue, queries, together, k, best_.data(), best_kept_.data());
  }

  // Takes the windows that promise most, and leaves them out of `bounds_`.
  void first_windows(Queue& queue, const Batch& batch, uint64_t queries, uint32_t k) {
    uint32_t windows = batch.lists.windows;
    float* bounds = bounds_.data();
    uint64_t* first_keys = first_keys_.reserve(queries * FIRST_WINDOWS);
    uint32_t* first_kept = first_kept_.reserve(queries);
    best_keys(queue, queries, PromisingWindows{{}, bounds, windows}, FIRST_WINDOWS, first_keys, first_kept);
    uint64_t count = queries * FIRST_WINDOWS;
    uint32_t* pairs = first_pairs_.reserve(count);
    uint32_t* starts = starts_.reserve(queries + 1);
    for_each(queue, count, [=] TOKAPI_LAMBDA(uint64_t i) {
      uint64_t query = i / FIRST_WINDOWS;
      bool is_one = i % FIRST_WINDOWS < first_kept[query];
      pairs[i] = is_one ? static_cast<uint32_t>(query * windows + static_cast<uint32_t>(first_keys[i])) : NO_PAIR;
    });
    for_each(queue, queries + 1, [=] TOKAPI_LAMBDA(uint64_t query) {
      starts[query] = static_cast<uint32_t>(query * FIRST_WINDOWS);
    });
    take_windows(queue, batch, queries, pairs, count, k);
    for_each(queue, count, [=] TOKAPI_LAMBDA(uint64_t i) {
      if (pairs[i] != NO_PAIR) bounds[pairs[i]] = -1.0f;
    });
  }

  // Takes windows, those of query q from starts_[q] on.
  void take_windows(Queue& queue, const Batch& batch, uint64_t queries, const uint32_t* pairs, uint64_t count,
                    uint32_t k) {
    in_slices(count, k, [&](uint64_t from, uint64_t to) {
      WindowSections sections{batch, pairs + from, bounds_.data(), limits_.data()};
      best_keys(queue, to - from, sections, k, keys_.data(), kept_.data());
      put_together(queue, queries, from, to, k);
    });
  }

  void bring_down(Queue& queue, uint64_t queries, uint32_t k, tokapi_ranked& ranked) {
    download(queue, keys_here_.reserve(queries * k), best_.data(), queries * k * sizeof(uint64_t));
    download(queue, kept_here_.reserve(queries), best_kept_.data(), queries * sizeof(uint32_t));
    ranked = tokapi_ranked{keys_here_.data(), kept_here_.data()};
  }

 private:
  Buffer<uint64_t> best_, limits_, keys_, first_keys_;
  Buffer<uint32_t> best_kept_, kept_, first_kept_, first_pairs_, starts_, pairs_, count_;
  Buffer<float> bounds_;
  Pinned<uint64_t> keys_here_;
  Pinned<uint32_t> kept_here_, starts_here_, count_here_;
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
