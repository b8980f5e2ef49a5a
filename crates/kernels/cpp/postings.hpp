// From grouped occurrences to postings: tf by counting equal pairs, df by counting postings of
// equal terms. What is kept here of every chunk is what weighing needs.
#pragma once

#include "identify.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

// The postings of a chunk on the device, and what of them has come to the host.
struct Part {
  uint64_t postings = 0;
  // Of every posting the document and the frequency, in place of which weights are put.
  Buffer<uint32_t> documents, frequencies;
  // Postings segment_starts[s] and up to segment_starts[s + 1] belong to term segment_terms[s].
  Buffer<uint32_t> segment_terms, segment_starts;

  // The number of segments, once the queue has been waited for.
  uint64_t segments() const { return *segments_here.data(); }

  Pinned<uint32_t> segments_here, documents_here, segment_terms_here, segment_starts_here;
  Pinned<float> weights_here;
  // When the device is done with it.
  Event computed;
};

// Frequencies in one byte each, and the rare ones of 255 or more beside.
class Small {
 public:
  // Splits the frequencies of a part, and waits for the large ones.
  void split(Queue& queue, const Part& part) {
    const uint32_t* frequencies = part.frequencies.data();
    uint8_t* bytes = bytes_.reserve(part.postings);
    for_each(queue, part.postings, [=] TOKAPI_LAMBDA(uint64_t p) {
      bytes[p] = static_cast<uint8_t>(frequencies[p] < 255 ? frequencies[p] : 255);
    });
    uint32_t* places = places_.reserve(part.postings);
    compact(queue, part.postings, [=] TOKAPI_LAMBDA(uint32_t p) { return frequencies[p] >= 255; }, places,
            count_.reserve(1));
    tell(queue, count_here_.reserve(1), count_.data(), 1);
    queue.wait();
    uint32_t* values_here = values_here_.reserve(large_count());
    tell(queue, places_here_.reserve(large_count()), places_.data(), large_count());
    for_each(queue, large_count(), [=] TOKAPI_LAMBDA(uint64_t i) { values_here[i] = frequencies[places[i]]; });
  }

  const uint8_t* bytes() const { return bytes_.data(); }
  // On the host.
  const uint32_t* large_places() const { return places_here_.data(); }
  const uint32_t* large_values() const { return values_here_.data(); }
  uint64_t large_count() const { return *count_here_.data(); }

 private:
  Buffer<uint8_t> bytes_;
  Buffer<uint32_t> places_, count_;
  Pinned<uint32_t> count_here_, places_here_, values_here_;
};

// The buffers of counting, used chunk after chunk.
class Counting {
 public:
  // tf, first half: finds the runs of equal pairs. Wait for the queue before the second half.
  void find_postings(Queue& queue, const uint64_t* pairs, uint64_t count) {
    count_runs(queue, count, [=] TOKAPI_LAMBDA(uint32_t i) { return pairs[i] != pairs[i - 1]; },
               heads_.reserve(count + 1), runs_.reserve(1));
    tell(queue, runs_here_.reserve(1), runs_.data(), 1);
  }

  // tf, second half: writes the part's postings.
  void count_frequencies(Queue& queue, const uint64_t* pairs, uint64_t count, Part& part) {
    uint64_t postings = *runs_here_.data();
    part.postings = postings;
    const uint32_t* heads = heads_.data();
    uint32_t* terms = terms_.reserve(postings);
    uint32_t* documents = part.documents.reserve(postings);
    uint32_t* frequencies = part.frequencies.reserve(postings);
    for_each(queue, postings, [=] TOKAPI_LAMBDA(uint64_t p) {
      uint32_t head = heads[p];
      uint32_t next = p + 1 < postings ? heads[p + 1] : static_cast<uint32_t>(count);
      uint64_t pair = pairs[head];
      terms[p] = id_of(pair);
      documents[p] = document_of(pair);
      frequencies[p] = next - head;
    });
  }

  // df: counts runs of postings of one term, and adds them up in `df`, if there is one. A chunk
  // has no more than `most_terms` terms. How many it has follows in the part.
  void count_documents(Queue& queue, Part& part, uint64_t most_terms, uint32_t* df) {
    const uint32_t* terms = terms_.data();
    uint64_t postings = part.postings;
    uint64_t most = postings < most_terms ? postings : most_terms;
    uint32_t* starts = part.segment_starts.reserve(most + 1);
    uint32_t* segment_terms = part.segment_terms.reserve(most);
    const uint32_t* runs = runs_.data();
    count_runs(queue, postings, [=] TOKAPI_LAMBDA(uint32_t p) { return terms[p] != terms[p - 1]; }, starts,
               runs_.data());
    tell(queue, part.segments_here.reserve(1), runs, 1);
    for_each(queue, most + 1, [=] TOKAPI_LAMBDA(uint64_t s) {
      uint64_t segments = *runs;
      if (s == segments) starts[s] = static_cast<uint32_t>(postings);
      if (s >= segments) return;
      uint32_t term = terms[starts[s]];
      segment_terms[s] = term;
      // A term has one segment a chunk, and chunks follow each other: nobody else adds here.
      if (df) df[term] += (s + 1 < segments ? starts[s + 1] : static_cast<uint32_t>(postings)) - starts[s];
    });
  }

 private:
  Buffer<uint32_t> heads_, terms_, runs_;
  Pinned<uint32_t> runs_here_;
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
