// Cutting a chunk's text into terms: which bytes belong to terms (64 of them a word), where terms
// start (by scan and compact over the words' bits), and which term is each document's first.
#pragma once

#include "primitives.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

// Spaces that follow the text, so that every term ends and what is read beyond it is there.
constexpr uint64_t PADDING = 128;

// A 1 in each of the 8 bytes of a word.
constexpr uint64_t ONES = 0x0101010101010101;

// The highest bit of every byte of `bytes` that is ASCII and from `first` to `last`.
TOKAPI_FN uint64_t in_range(uint64_t bytes, uint32_t first, uint32_t last) {
  uint64_t low = bytes & (0x7F * ONES);
  uint64_t from_first = low + (0x80 - first) * ONES;
  uint64_t past_last = low + (0x7F - last) * ONES;
  return from_first & ~past_last & ~bytes & (0x80 * ONES);
}

// Which characters belong to terms: ranges of ASCII, and beyond it those of a bitmap, or all.
struct Classes {
  static constexpr uint32_t MOST_RANGES = 64;
  uint32_t range_count = 0;
  uint8_t first[MOST_RANGES], last[MOST_RANGES];
  const uint32_t* beyond_ascii = nullptr;
  bool fold;

  explicit Classes(const tokapi_options& options) : fold(options.fold != 0) {
    auto in_term = [&](uint32_t byte) { return options.ascii[byte / 32] >> (byte % 32) & 1; };
    for (uint32_t byte = 0; byte < 128; byte++) {
      if (!in_term(byte)) continue;
      // What is folded never has an upper-case letter in it.
      if (fold && byte >= 'A' && byte <= 'Z') continue;
      if (byte == 0 || !in_term(byte - 1) || (fold && byte == 'Z' + 1)) first[range_count++] = static_cast<uint8_t>(byte);
      last[range_count - 1] = static_cast<uint8_t>(byte);
    }
  }
};

// Whether the character beyond ASCII that the byte at `at` is part of belongs to terms. The text
// is valid UTF-8.
TOKAPI_FN bool beyond_ascii_in_term(const uint8_t* text, uint64_t at, const uint32_t* beyond_ascii) {
  while (at > 0 && (text[at] & 0xC0) == 0x80) at--;
  uint32_t lead = text[at];
  uint32_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  uint32_t character = lead & (0x3F >> more);
  for (uint32_t i = 1; i <= more; i++) character = (character << 6) | (text[at + i] & 0x3F);
  character &= 0x1FFFFF;
  return character < 0x110000 && (beyond_ascii[character >> 5] >> (character & 31) & 1);
}

// 8 bytes with their ASCII letters in lower case.
TOKAPI_FN uint64_t fold_8(uint64_t bytes) {
  return bytes | in_range(bytes, 'A', 'Z') >> 2;
}

// The terms of a chunk.
class Cut {
 public:
  // Enqueues all of it: the chunk's text is on the device, padded; document d of `documents`
  // begins at starts[d] - base. The number of terms follows on `count_here` of the host.
  void enqueue(Queue& queue, const Classes& classes, uint64_t length, const uint64_t* document_starts, uint64_t base,
               uint64_t documents) {
    uint64_t words = length / 64 + 1;
    uint8_t* text = text_.data();
    uint64_t* inside = inside_.reserve(words + 1);
    uint32_t* before = before_.reserve(words + 1);
    uint32_t* first = first_.reserve(documents + 1);
    words_ = words;
    for_each(queue, words, [=] TOKAPI_LAMBDA(uint64_t w) {
      const uint64_t* bytes = reinterpret_cast<const uint64_t*>(text) + w * 8;
      uint64_t bits = 0;
      for (uint32_t part = 0; part < 8; part++) {
        uint64_t eight = bytes[part];
        if (classes.fold) {
          uint64_t folded = fold_8(eight);
          if (folded != eight) reinterpret_cast<uint64_t*>(text)[w * 8 + part] = folded;
          eight = folded;
        }
        // In the highest bit of every byte whether it belongs to a term.
        uint64_t high = eight & (0x80 * ONES);
        uint64_t in_term = classes.beyond_ascii ? 0 : high;
        for (uint32_t r = 0; r < classes.range_count; r++) in_term |= in_range(eight, classes.first[r], classes.last[r]);
        if (classes.beyond_ascii) {
          for (; high; high &= high - 1) {
            uint32_t bit = lowest_one(high);
            uint64_t at = w * 64 + part * 8 + bit / 8;
            if (beyond_ascii_in_term(text, at, classes.beyond_ascii)) in_term |= uint64_t(1) << bit;
          }
        }
        // The eight bits side by side, by a product that puts bit 8 i + 7 at place 56 + i.
        bits |= (((in_term >> 7) * 0x0102040810204080) >> 56) << (part * 8);
      }
      inside[w] = bits;
    });
    scan(queue, words, [=] TOKAPI_LAMBDA(uint64_t w) { return count_ones(starts_in(inside, w)); }, before);
    tell(queue, count_here_.reserve(1), before + words, 1);
    counted_.record(queue);
    for_each(queue, documents, [=] TOKAPI_LAMBDA(uint64_t d) {
      uint64_t at = document_starts[d] - base;
      uint64_t below = (uint64_t(1) << (at % 64)) - 1;
      first[d] = before[at / 64] + count_ones(starts_in(inside, at / 64) & below);
      if (d == 0) first[documents] = before[words];
    });
  }

  // Waits for the number of terms.
  uint64_t count() {
    counted_.wait();
    return *count_here_.data();
  }

  // The same, and enqueues writing down where they start.
  uint64_t finish(Queue& queue) {
    uint64_t terms = count();
    uint32_t* starts = starts_.reserve(terms + 1);
    const uint64_t* inside = inside_.data();
    const uint32_t* before = before_.data();
    // Of two neighbouring bytes one at most starts a term: 32 threads write a word's side by side,
    // for some words in turn.
    constexpr uint64_t TURNS = 8;
    uint64_t words = words_;
    for_each(queue, (words + TURNS - 1) / TURNS * 32, [=] TOKAPI_LAMBDA(uint64_t i) {
      uint32_t place = static_cast<uint32_t>(i % 32) * 2;
      for (uint64_t w = i / 32 * TURNS, end = w + TURNS; w < end && w < words; w++) {
        uint64_t bits = starts_in(inside, w);
        uint64_t here = bits >> place & 3;
        uint64_t earlier = bits & ((uint64_t(1) << place) - 1);
        uint32_t to = before[w] + count_ones(earlier);
        if (here) starts[to] = static_cast<uint32_t>(w * 64 + place + (here >> 1));
      }
    });
    return terms;
  }

  // The bits of word w at which terms start.
  static TOKAPI_FN uint64_t starts_in(const uint64_t* inside, uint64_t w) {
    uint64_t bits = inside[w];
    uint64_t carried = w ? inside[w - 1] >> 63 : 0;
    return bits & ~(bits << 1 | carried);
  }

  // The length of the term that starts at `start`.
  static TOKAPI_FN uint32_t term_length(const uint64_t* inside, uint32_t start) {
    uint64_t w = start / 64;
    uint64_t outside = ~inside[w] >> (start % 64);
    if (outside) return lowest_one(outside);
    uint32_t length = 64 - start % 64;
    while (inside[++w] == ~uint64_t(0)) length += 64;
    return length + lowest_one(~inside[w]);
  }

  Buffer<uint8_t>& text() { return text_; }
  const uint64_t* inside() const { return inside_.data(); }
  const uint32_t* starts() const { return starts_.data(); }
  // The number of the first term of every document, and that of all terms.
  const uint32_t* first() const { return first_.data(); }

 private:
  Buffer<uint8_t> text_;
  Buffer<uint64_t> inside_;
  Buffer<uint32_t> before_, starts_, first_;
  Pinned<uint32_t> count_here_;
  Event counted_;
  uint64_t words_ = 0;
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
