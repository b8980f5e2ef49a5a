// Weighing: every posting's weight, in double precision, rounded once to float; the same
// operations in the same order as `crates/weigh/src/formula/formulas.rs`, compiled without fusing any, so
// that the last bit agrees. Logarithms differ between libraries, so idf comes from the host: it
// depends on df alone, and collections have few distinct df.
#pragma once

#include "postings.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

// Formula and collection, as kernels see them.
struct Weigher {
  uint32_t tf_part;
  double k1, delta;
  const double* idf;
  const double* norms;

  TOKAPI_FN float weight(uint32_t term, uint32_t document, uint32_t frequency) const {
    double tf = static_cast<double>(frequency);
    double l = norms[document];
    double part = 0;
    switch (tf_part) {
      case TOKAPI_SATURATED:
        part = tf / (tf + k1 * l);
        break;
      case TOKAPI_SCALED:
        part = (k1 + 1.0) * tf / (k1 * l + tf);
        break;
      case TOKAPI_BM25L: {
        double c = tf / l + delta;
        part = (k1 + 1.0) * c / (k1 + c);
        break;
      }
      case TOKAPI_BM25PLUS:
        part = (k1 + 1.0) * tf / (k1 * l + tf) + delta;
        break;
      default:
        part = tf;
    }
    return static_cast<float>(idf[term] * part);
  }
};

class Weighing {
 public:
  // Enqueues the search for every df that occurs, ascending. There are `documents` documents.
  void find_df_values(Queue& queue, const uint32_t* df, uint64_t terms, uint64_t documents) {
    uint32_t* places = places_.reserve(documents + 1);
    fill(queue, places, 0, (documents + 1) * sizeof(uint32_t));
    for_each(queue, terms, [=] TOKAPI_LAMBDA(uint64_t term) { places[df[term]] = 1; });
    uint32_t* values = values_.reserve(documents + 1);
    compact(queue, documents + 1, [=] TOKAPI_LAMBDA(uint32_t value) { return places[value] != 0; }, values,
            count_.reserve(1));
    tell(queue, count_here_.reserve(1), count_.data(), 1);
  }

  // Waits for what was found.
  void tell_df_values(Queue& queue) {
    queue.wait();
    value_count_ = *count_here_.data();
    tell(queue, values_here_.reserve(value_count_), values_.data(), value_count_);
    queue.wait();
  }
  const uint32_t* values() const { return values_here_.data(); }
  uint64_t value_count() const { return value_count_; }

  // Spreads the values' idf to the terms, and computes L of every document.
  Weigher prepare(Queue& queue, const tokapi_formula& formula, const uint32_t* df, uint64_t terms,
                  const uint32_t* lengths, uint64_t documents) {
    double* idf_of_value = idf_of_value_.reserve(value_count_);
    double* idf_here = idf_here_.reserve(value_count_);
    for (uint64_t i = 0; i < value_count_; i++) idf_here[i] = formula.idf[i];
    upload(queue, idf_of_value, idf_here, value_count_ * sizeof(double));
    uint32_t* places = places_.data();
    const uint32_t* values = values_.data();
    for_each(queue, value_count_, [=] TOKAPI_LAMBDA(uint64_t i) { places[values[i]] = static_cast<uint32_t>(i); });
    double* idf = idf_.reserve(terms);
    for_each(queue, terms, [=] TOKAPI_LAMBDA(uint64_t term) { idf[term] = idf_of_value[places[df[term]]]; });
    double* norms = norms_.reserve(documents);
    double b = formula.b, avdl = formula.avdl;
    for_each(queue, documents, [=] TOKAPI_LAMBDA(uint64_t d) {
      norms[d] = 1.0 - b + b * static_cast<double>(lengths[d]) / avdl;
    });
    return Weigher{formula.tf_part, formula.k1, formula.delta, idf, norms};
  }

  // Puts the weights of a part in place of its frequencies: df, or here the idf it stands for, is
  // spread to the postings by load-balancing search.
  void weigh(Queue& queue, const Weigher& weigher, Part& part) {
    const uint32_t* documents = part.documents.data();
    const uint32_t* segment_terms = part.segment_terms.data();
    uint32_t* frequencies = part.frequencies.data();
    uint32_t* tiles = tiles_.reserve(part.postings / TILE + 2);
    load_balancing_search(queue, part.segment_starts.data(), part.segments(), part.postings, tiles,
                          [=] TOKAPI_LAMBDA(uint64_t p, uint64_t segment) {
      float weight = weigher.weight(segment_terms[segment], documents[p], frequencies[p]);
      std::memcpy(frequencies + p, &weight, sizeof weight);
    });
  }

 private:
  Buffer<uint32_t> places_, values_, count_, tiles_;
  Buffer<double> idf_of_value_, idf_, norms_;
  Pinned<uint32_t> count_here_, values_here_;
  Pinned<double> idf_here_;
  uint64_t value_count_ = 0;
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
