// Pieces of a chunk's text, and their order: that of their bytes.
#pragma once

#include "primitives.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

// A piece of text in one word: where it starts above, its length below. The empty piece is 0.
TOKAPI_FN uint64_t slice_of(uint32_t start, uint32_t length) { return uint64_t(start) << 32 | length; }
TOKAPI_FN uint32_t slice_start(uint64_t slice) { return static_cast<uint32_t>(slice >> 32); }
TOKAPI_FN uint32_t slice_length(uint64_t slice) { return static_cast<uint32_t>(slice); }

TOKAPI_FN uint64_t first_bytes(uint64_t word, uint32_t length) {
  return length >= 8 ? word : word & ((uint64_t(1) << (8 * length)) - 1);
}

// The 8 bytes of a slice from `at` on, as a number that orders slices; zeros beyond its end.
TOKAPI_FN uint64_t slice_word(const uint8_t* text, uint64_t slice, uint32_t at) {
  uint32_t length = slice_length(slice);
  return at < length ? swap_bytes(first_bytes(load_8(text + slice_start(slice) + at), length - at)) : 0;
}

// How two slices compare that have their bytes before `from` in common: below, at or above 0.
TOKAPI_FN int compare_slices(const uint8_t* text, uint64_t a, uint64_t b, uint32_t from) {
  uint32_t length_a = slice_length(a), length_b = slice_length(b);
  uint32_t common = length_a < length_b ? length_a : length_b;
  for (uint32_t at = from; at < common; at += 8) {
    uint64_t word_a = slice_word(text, a, at), word_b = slice_word(text, b, at);
    if (word_a != word_b) return word_a < word_b ? -1 : 1;
  }
  return length_a == length_b ? 0 : length_a < length_b ? -1 : 1;
}

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
