// The best documents of each query of a batch, exactly.
//
// A query leads with one list, whose elements, in sections, are scored as PARA takes them: the shortest of
// the lists that documents must be in; without such, every list in turn, the shortest first, a document where
// it is met first. Each section gives its best, which go together with those that the query had; what is
// worse than k of a query is a limit to all of its sections, and lists that could not bring a better document any
// more are left out (Turtle and Flood, IP&M 1995). Where any document of a list matches, the k-th best weight
// of one is a limit to begin with (Mallia et al., A Comparison of Top-k Threshold Estimation Techniques, ECIR 2020).
#pragma once

#include "batch.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

// Elements of a list in a section.
constexpr uint32_t SECTION_ELEMENTS = 4096;

// Keys of sections that are held at a time.
constexpr uint64_t MOST_SECTION_KEYS = uint64_t(32) << 20;

// Bounds are added up in another order than scores, and rounded.
constexpr double SLACK = 1e-6;

// Queries that lead with the list at place `phase` of their orders.
struct Phase {
  Batch batch;
  uint32_t phase;
  uint64_t* limits;

  // What the terms from `place` of the order on can add to a score.
  TOKAPI_FN double bound_from(const tokapi_query& query, uint32_t place) const {
    double sum = 0.0;
    for (; place < query.terms - query.forbidden; place++) {
      const tokapi_term& term = batch.terms[batch.order[query.first_term + place]];
      sum += static_cast<double>(batch.lists.most[term.list]) * term.times;
    }
    return sum;
  }

  // A limit that the best k of a query are before, from one floor of each of its lists. None is known where a
  // document of a list need not match, or other terms may take from its score.
  TOKAPI_FN uint64_t first_limit(const tokapi_query& query, uint32_t floor) const {
    if (floor >= FLOORS || query.forbidden || (query.must && query.terms > 1)) return NO_KEY;
    float most = 0.0f;
    for (uint32_t number = query.first_term; number < query.first_term + query.terms; number++) {
      const float* of_list = batch.lists.floors + batch.terms[number].list * uint64_t(FLOORS);
      if (of_list[0] < 0.0f) return NO_KEY;
      float score = static_cast<float>(static_cast<double>(of_list[floor]) * batch.terms[number].times);
      if (score > most) most = score;
    }
    // Documents of that score are before it, too.
    return most > 0.0f ? key_of(most, ~uint32_t(0)) + 1 : NO_KEY;
  }

  // Whether documents with a sum of bounds could come before `limit`.
  TOKAPI_FN static bool reaches(double bound, uint64_t limit) {
    return key_of(static_cast<float>(bound + (bound < 0.0 ? -bound : bound) * SLACK), 0) < limit;
  }
};

// Elements of a list.
struct Elements {
  const Phase& of;
  tokapi_query query;
  uint64_t number, first;
  uint32_t count, list;
  double times, others;

  TOKAPI_FN uint64_t limit() const { return lowered(of.limits + number); }
  // None where the list could not bring a better document any more.
  TOKAPI_FN uint32_t items(uint64_t limit) const {
    return Phase::reaches(of.bound_from(query, of.phase), limit) ? count : 0;
  }
  // Whether the lists after this can bring a document before `limit`, by one after the other of its weights
  // there: mostly the first that lacks it tells that they cannot.
  TOKAPI_FN bool reaches(uint32_t document, float weight, uint64_t limit) const {
    const Batch& batch = of.batch;
    // A little more than there is, as it is taken off in another order.
    double known = static_cast<double>(weight) * times, rest = others + others * SLACK;
    for (uint32_t place = of.phase + 1; place < query.terms - query.forbidden; place++) {
      const tokapi_term& term = batch.terms[batch.order[query.first_term + place]];
      uint64_t at = batch.lists.find(batch.lists.lists[term.list], document);
      rest -= static_cast<double>(batch.lists.most[term.list]) * term.times;
      if (at != NOWHERE) known += static_cast<double>(batch.lists.weights[at]) * term.times;
      if (!Phase::reaches(known + rest, limit)) return false;
    }
    return true;
  }
  TOKAPI_FN uint64_t key(uint32_t i, uint64_t limit) const {
    const Batch& batch = of.batch;
    float weight = batch.lists.weights[first + i];
    if (!Phase::reaches(static_cast<double>(weight) * times + others, limit)) return NO_KEY;
    uint32_t document = batch.lists.documents[first + i];
    if (query.must == 0 && !reaches(document, weight, limit)) return NO_KEY;
    // It has been met.
    for (uint32_t place = 0; place < of.phase; place++) {
      if (batch.has(query, place, document)) return NO_KEY;
    }
    if (!batch.matches(query, document)) return NO_KEY;
    return key_of(batch.score(query, document, list, weight), document);
  }
  TOKAPI_FN void found(uint64_t last) const { lower(of.limits + number, last); }
};

// The sections of a phase from `from` on: those of query q from starts[q] on.
struct ElementSections {
  Phase phase;
  const uint32_t* starts;
  uint64_t queries, from;

  TOKAPI_FN Elements section(uint64_t s) const {
    uint64_t number = upper_bound(starts, 0, queries, static_cast<uint32_t>(from + s)) - 1;
    const tokapi_query query = phase.batch.queries[number];
    const tokapi_term& term = phase.batch.terms[phase.batch.order[query.first_term + phase.phase]];
    const List& list = phase.batch.lists.lists[term.list];
    uint64_t first = (from + s - starts[number]) * SECTION_ELEMENTS, left = list.count - first;
    return Elements{phase,
                    query,
                    number,
                    list.start + first,
                    static_cast<uint32_t>(left < SECTION_ELEMENTS ? left : SECTION_ELEMENTS),
                    term.list,
                    term.times,
                    phase.bound_from(query, phase.phase + 1)};
  }
};

// The best of a query so far, and of its sections.
struct Together {
  const uint64_t* before;
  const uint32_t* kept_before;
  const uint64_t* keys;
  const uint32_t* kept;
  const uint32_t* starts;
  // The sections that are at hand.
  uint64_t from, to;
  uint32_t k;
  uint64_t* limits;

  struct OfQuery {
    const Together& of;
    uint64_t number;
    uint32_t begin, count;

    TOKAPI_FN uint64_t limit() const { return NO_KEY; }
    TOKAPI_FN uint32_t items(uint64_t) const { return count; }
    TOKAPI_FN uint64_t key(uint32_t i, uint64_t) const {
      uint32_t place = i % of.k;
      if (i < of.k) return place < of.kept_before[number] ? of.before[number * of.k + place] : NO_KEY;
      uint64_t section = begin + i / of.k - 1;
      return place < of.kept[section] ? of.keys[section * of.k + place] : NO_KEY;
    }
    TOKAPI_FN void found(uint64_t last) const { lower(of.limits + number, last); }
  };

  TOKAPI_FN uint32_t at_hand(uint32_t section) const {
    return static_cast<uint32_t>((section < from ? from : section > to ? to : section) - from);
  }
  TOKAPI_FN OfQuery section(uint64_t number) const {
    uint32_t begin = at_hand(starts[number]), end = at_hand(starts[number + 1]);
    return OfQuery{*this, number, begin, (1 + end - begin) * k};
  }
};

class Ranking {
 public:
  // Gives the keys of the best `k` of every query, the best first, once the queue has been waited for.
  void rank(Queue& queue, const DeviceLists& lists, const tokapi_batch& given, const Batch& batch, uint32_t k,
            tokapi_ranked& ranked) {
    if (k == 0 || k > MOST_KEYS) throw Failure(TOKAPI_TOO_LARGE, "no or too many documents asked for");
    uint64_t queries = given.queries;
    uint32_t phases = 0;
    for (uint64_t query = 0; query < queries; query++) phases = std::max(phases, leads(given.query_list[query]));
    bring_up(queue, lists, given, phases);
    best_.reserve(queries * k);
    uint64_t* keys_here = keys_here_.reserve(queries * k);
    uint32_t* kept_here = kept_here_.reserve(queries);
    uint32_t floor = 0;
    while (floor < FLOORS && floor_rank(floor) < k) floor++;
    uint64_t* limits = limits_.reserve(queries);
    for_each(queue, queries, [=] TOKAPI_LAMBDA(uint64_t query) {
      limits[query] = Phase{batch, 0, limits}.first_limit(batch.queries[query], floor);
    });
    uint64_t slice = std::min(MOST_SECTION_KEYS / k, most_sections_);
    uint64_t* keys = keys_.reserve(slice * k);
    uint32_t* kept = kept_.reserve(slice);
    for (uint32_t number = 0; number < phases; number++) {
      Phase phase{batch, number, limits};
      const uint32_t* starts = starts_ + number * (queries + 1);
      uint64_t sections = starts_here_[number * (queries + 1) + queries], from = 0, to = 0;
      do {
        to = std::min(from + slice, sections);
        best_keys(queue, to - from, ElementSections{phase, starts, queries, from}, k, keys, kept);
        // The last come down as they are written.
        bool is_last = number + 1 == phases && to == sections;
        Together together{best_.data(), best_kept_, keys, kept, starts, from, to, k, limits};
        best_keys(queue, queries, together, k, is_last ? keys_here : best_.data(), is_last ? kept_here : best_kept_);
        from = to;
      } while (to < sections);
    }
    ranked = tokapi_ranked{keys_here, kept_here};
  }

 private:
  // The lists that a query leads with.
  static uint32_t leads(const tokapi_query& query) { return query.must ? 1 : query.terms - query.forbidden; }

  // Brings up that nothing is kept, and where the sections of every query begin in each phase. Lists that need not
  // be gone through turn out in the sections.
  void bring_up(Queue& queue, const DeviceLists& lists, const tokapi_batch& given, uint32_t phases) {
    uint64_t queries = given.queries;
    uint64_t count = queries + phases * (queries + 1);
    uint32_t* kept_here = here_.reserve(count);
    starts_here_ = kept_here + queries;
    std::fill(kept_here, kept_here + queries, 0);
    most_sections_ = 0;
    for (uint32_t phase = 0; phase < phases; phase++) {
      uint32_t* starts = starts_here_ + phase * (queries + 1);
      uint64_t sections = 0;
      for (uint64_t number = 0; number < queries; number++) {
        const tokapi_query& query = given.query_list[number];
        // Their number was checked to fit.
        starts[number] = static_cast<uint32_t>(sections);
        if (phase >= leads(query)) continue;
        uint64_t count = lists.list(given.term_list[given.order[query.first_term + phase]].list).count;
        sections += (count + SECTION_ELEMENTS - 1) / SECTION_ELEMENTS;
      }
      starts[queries] = static_cast<uint32_t>(sections);
      most_sections_ = std::max(most_sections_, sections);
    }
    best_kept_ = there_.reserve(count);
    starts_ = best_kept_ + queries;
    upload(queue, best_kept_, kept_here, count * sizeof(uint32_t));
  }

  Pinned<uint32_t> here_;
  Buffer<uint32_t> there_;
  // Within these.
  uint32_t *starts_here_ = nullptr, *best_kept_ = nullptr, *starts_ = nullptr;
  // Of a phase.
  uint64_t most_sections_ = 0;
  Buffer<uint64_t> best_, limits_, keys_;
  Buffer<uint32_t> kept_;
  // Written by kernels.
  Pinned<uint64_t> keys_here_;
  Pinned<uint32_t> kept_here_;
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
