// The best documents of each query of a batch, exactly.
//
// A query leads with one list, whose elements, in sections, are scored as PARA takes them: the shortest of
// the lists that documents must be in; without such, every list in turn, the shortest first, a document where
// it is met first. Each section gives its best, which go together with those that the query had; what is
// worse than k of a query is a limit to all of its sections, and lists that could not bring a better document any
// more are left out (Turtle and Flood, IP&M 1995).
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

  // Whether documents with a sum of bounds could come before `limit`.
  TOKAPI_FN static bool reaches(double bound, uint64_t limit) {
    return key_of(static_cast<float>(bound + (bound < 0.0 ? -bound : bound) * SLACK), 0) < limit;
  }

  // The sections of a query's list.
  TOKAPI_FN uint32_t sections(uint64_t number) const {
    const tokapi_query query = batch.queries[number];
    uint32_t leads = query.must ? 1 : query.terms - query.forbidden;
    if (phase >= leads || !reaches(bound_from(query, phase), limits[number])) return 0;
    uint64_t count = batch.list(query, phase).count;
    return static_cast<uint32_t>((count + SECTION_ELEMENTS - 1) / SECTION_ELEMENTS);
  }
};

// Elements of a list.
struct Elements {
  const Phase& of;
  tokapi_query query;
  uint64_t number, first;
  uint32_t items, list;
  double times, others;

  TOKAPI_FN uint64_t limit() const { return lowered(of.limits + number); }
  TOKAPI_FN uint64_t key(uint32_t i, uint64_t limit) const {
    const Batch& batch = of.batch;
    float weight = batch.lists.weights[first + i];
    if (!Phase::reaches(static_cast<double>(weight) * times + others, limit)) return NO_KEY;
    uint32_t document = batch.lists.documents[first + i];
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
    uint32_t begin, items;

    TOKAPI_FN uint64_t limit() const { return NO_KEY; }
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
  // The lists that a query leads with.
  static uint32_t leads(const tokapi_query& query) { return query.must ? 1 : query.terms - query.forbidden; }

  // Gives the keys of the best `k` of every query, the best first, once the queue has been waited for. No query
  // leads with more than `phases` lists.
  void rank(Queue& queue, const Batch& batch, uint64_t queries, uint32_t phases, uint32_t k, tokapi_ranked& ranked) {
    if (k == 0 || k > MOST_KEYS) throw Failure(TOKAPI_TOO_LARGE, "no or too many documents asked for");
    best_.reserve(queries * k);
    fill(queue, best_kept_.reserve(queries), 0, queries * sizeof(uint32_t));
    fill(queue, limits_.reserve(queries), 0xff, queries * sizeof(uint64_t));
    uint32_t* starts = starts_.reserve(queries + 1);
    uint32_t* count = count_.reserve(1);
    for (uint32_t number = 0; number < phases; number++) {
      Phase phase{batch, number, limits_.data()};
      scan(queue, queries, [=] TOKAPI_LAMBDA(uint64_t query) { return phase.sections(query); }, starts);
      tell(queue, count, starts + queries, 1);
      queue.wait();
      take_sections(queue, phase, queries, *count, k);
    }
    download(queue, keys_here_.reserve(queries * k), best_.data(), queries * k * sizeof(uint64_t));
    download(queue, kept_here_.reserve(queries), best_kept_.data(), queries * sizeof(uint32_t));
    ranked = tokapi_ranked{keys_here_.data(), kept_here_.data()};
  }

 private:
  // Finds the best of all sections of a phase, as many at a time as there is room for.
  void take_sections(Queue& queue, const Phase& phase, uint64_t queries, uint64_t sections, uint32_t k) {
    uint64_t slice = MOST_SECTION_KEYS / k, most = std::min(slice, sections);
    uint64_t* keys = keys_.reserve(most * k);
    uint32_t* kept = kept_.reserve(most);
    for (uint64_t from = 0; from < sections; from += slice) {
      uint64_t to = std::min(from + slice, sections);
      best_keys(queue, to - from, ElementSections{phase, starts_.data(), queries, from}, k, keys, kept);
      Together together{best_.data(), best_kept_.data(), keys, kept, starts_.data(), from, to, k, limits_.data()};
      best_keys(queue, queries, together, k, best_.data(), best_kept_.data());
    }
  }

  Buffer<uint64_t> best_, limits_, keys_;
  Buffer<uint32_t> best_kept_, kept_, starts_;
  Pinned<uint64_t> keys_here_;
  Pinned<uint32_t> kept_here_, count_;
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
