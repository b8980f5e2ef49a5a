// The documents that match each query of a batch, by two schemes. PARA: one thread for every element of a
// shortest list over all queries, found by load-balancing search; one scan and one compaction of them all.
// PART: one block of threads for every query, and a compaction within each.
// (Ao et al.: Efficient Lists Intersection by CPU-GPU Cooperative Computing.)
#pragma once

#include "batch.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

// What of a query's shortest list matches.
struct Matching {
  Batch batch;

  TOKAPI_FN uint32_t start(uint64_t query) const { return batch.offsets[query]; }
  TOKAPI_FN uint32_t items(uint64_t query) const { return batch.offsets[query + 1] - batch.offsets[query]; }
  TOKAPI_FN bool keep(uint64_t query, uint32_t i, uint32_t& document) const {
    document = batch.document(query, batch.offsets[query] + uint64_t(i));
    return batch.matches(batch.queries[query], document);
  }
};

class Intersecting {
 public:
  // Gives the documents of query q from documents[starts[q]] on, counts[q] of them, once the queue has
  // been waited for.
  void by_para(Queue& queue, const Batch& batch, uint64_t queries, uint64_t elements, tokapi_matches& matches) {
    uint32_t* tiles = tiles_.reserve(elements / TILE + 2);
    find_tiles(queue, batch.offsets, queries, elements, tiles);
    uint64_t word_count = (elements + 31) / 32;
    uint32_t* words = words_.reserve(word_count);
    mark(queue, elements, [=] TOKAPI_LAMBDA(uint64_t i) {
      uint64_t query = segment_of(batch.offsets, tiles, i);
      return batch.matches(batch.queries[query], batch.document(query, i));
    }, words);
    uint32_t* ranks = ranks_.reserve(word_count + 1);
    scan(queue, word_count, [=] TOKAPI_LAMBDA(uint64_t word) { return count_ones(words[word]); }, ranks);
    uint32_t* starts = starts_.reserve(queries + 1);
    for_each(queue, queries + 1, [=] TOKAPI_LAMBDA(uint64_t query) {
      uint32_t first = batch.offsets[query];
      uint32_t before = first % 32 ? words[first / 32] & ((uint32_t(1) << first % 32) - 1) : 0;
      starts[query] = ranks[first / 32] + count_ones(before);
    });
    queue.wait();
    uint64_t found = starts[queries];
    uint32_t* documents = documents_.reserve(found);
    for_each(queue, word_count, [=] TOKAPI_LAMBDA(uint64_t word) {
      uint32_t* to = documents + ranks[word];
      for (uint32_t left = words[word]; left; left &= left - 1) {
        uint64_t i = word * 32 + lowest_one(left);
        *to++ = batch.document(segment_of(batch.offsets, tiles, i), i);
      }
    });
    download(queue, documents_here_.reserve(found), documents, found * sizeof(uint32_t));
    uint32_t* counts = counts_.reserve(queries);
    for (uint64_t query = 0; query < queries; query++) counts[query] = starts[query + 1] - starts[query];
    matches = tokapi_matches{starts, counts, documents_here_.data(), found};
  }

  // As above, with gaps between those of different queries, which come down too. `starts` are in host memory.
  void by_part(Queue& queue, const Batch& batch, uint64_t queries, uint64_t elements, const uint32_t* starts,
               tokapi_matches& matches) {
    uint32_t* documents = documents_.reserve(elements);
    compact_sections(queue, queries, Matching{batch}, documents, counts_.reserve(queries));
    download(queue, documents_here_.reserve(elements), documents, elements * sizeof(uint32_t));
    matches = tokapi_matches{starts, counts_.data(), documents_here_.data(), elements};
  }

 private:
  Buffer<uint32_t> tiles_, words_, ranks_, documents_;
  // Written by kernels, so that no copy waits for them.
  Pinned<uint32_t> starts_, counts_, documents_here_;
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
