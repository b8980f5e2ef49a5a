// A batch of queries on the device: what each asks for, and whether a document matches and how it scores.
#pragma once

#include "lists.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

// Queries as kernels see them. The terms of a query stand in its order. `order` has them by kind, those that
// documents must have, those that add to the score, and those that none may have, each the shortest list first.
struct Batch {
  Lists lists;
  const tokapi_term* terms;
  const tokapi_query* queries;
  const uint32_t* order;
  // The elements of the shortest lists that must occur, query after query.
  const uint32_t* offsets;

  // The list of the term at a place of a query's order.
  TOKAPI_FN const List& list(const tokapi_query& query, uint32_t place) const {
    return lists.lists[terms[order[query.first_term + place]].list];
  }

  // The document of element i, which is one of query `number`.
  TOKAPI_FN uint32_t document(uint64_t number, uint64_t i) const {
    return lists.documents[list(queries[number], 0).start + (i - offsets[number])];
  }

  TOKAPI_FN bool has(const tokapi_query& query, uint32_t place, uint32_t document) const {
    return lists.find(list(query, place), document) != NOWHERE;
  }

  // Whether a document of the first list of the order has all terms that it must have, and none that it must not.
  TOKAPI_FN bool matches(const tokapi_query& query, uint32_t document) const {
    for (uint32_t place = 1; place < query.must; place++) {
      if (!has(query, place, document)) return false;
    }
    for (uint32_t place = query.terms - query.forbidden; place < query.terms; place++) {
      if (has(query, place, document)) return false;
    }
    return true;
  }

  // The weights of the terms, added up in the order of the query, in double precision, rounded once. The
  // posting of the list `lead` is known.
  TOKAPI_FN float score(const tokapi_query& query, uint32_t document, uint32_t lead, float weight) const {
    double score = 0.0;
    for (uint32_t number = query.first_term; number < query.first_term + query.terms; number++) {
      const tokapi_term term = terms[number];
      if (term.occur == TOKAPI_NOT) continue;
      if (term.list == lead) {
        score += static_cast<double>(weight) * term.times;
        continue;
      }
      uint64_t at = lists.find(lists.lists[term.list], document);
      if (at != NOWHERE) score += static_cast<double>(lists.weights[at]) * term.times;
    }
    return static_cast<float>(score);
  }
};

// Brings batches up.
class BatchOnDevice {
 public:
  Batch bring_up(Queue& queue, const DeviceLists& lists, const tokapi_batch& batch) {
    uint64_t term_bytes = batch.terms * sizeof(tokapi_term), query_bytes = batch.queries * sizeof(tokapi_query);
    uint64_t order_bytes = batch.terms * sizeof(uint32_t), offset_bytes = (batch.queries + 1) * sizeof(uint32_t);
    uint64_t bytes = term_bytes + query_bytes + order_bytes + offset_bytes;
    uint8_t* here = here_.reserve(bytes);
    uint8_t* there = there_.reserve(bytes);
    std::memcpy(here, batch.term_list, term_bytes);
    std::memcpy(here + term_bytes, batch.query_list, query_bytes);
    std::memcpy(here + term_bytes + query_bytes, batch.order, order_bytes);
    offsets_ = reinterpret_cast<uint32_t*>(here + term_bytes + query_bytes + order_bytes);
    elements_ = 0;
    for (uint64_t number = 0; number < batch.queries; number++) {
      const tokapi_query& query = batch.query_list[number];
      offsets_[number] = static_cast<uint32_t>(elements_);
      if (query.must) elements_ += lists.list(batch.term_list[batch.order[query.first_term]].list).count;
    }
    if (elements_ > 0xffffffffu) throw Failure(TOKAPI_TOO_LARGE, "a batch with 2^32 postings or more");
    offsets_[batch.queries] = static_cast<uint32_t>(elements_);
    upload(queue, there, here, bytes);
    auto at = [=](uint64_t place) { return there + place; };
    return Batch{lists.view(), reinterpret_cast<const tokapi_term*>(there),
                 reinterpret_cast<const tokapi_query*>(at(term_bytes)),
                 reinterpret_cast<const uint32_t*>(at(term_bytes + query_bytes)),
                 reinterpret_cast<const uint32_t*>(at(term_bytes + query_bytes + order_bytes))};
  }

  // The elements of all shortest lists.
  uint64_t elements() const { return elements_; }
  // Those of each query begin here, in host memory.
  const uint32_t* offsets() const { return offsets_; }

 private:
  Pinned<uint8_t> here_;
  Buffer<uint8_t> there_;
  uint32_t* offsets_ = nullptr;
  uint64_t elements_ = 0;
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
