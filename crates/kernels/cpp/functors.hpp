// The jobs' functions on a device: what a record is mapped to, and what the values of a key are reduced to.
// A `map` is called with all records, the number of one, or of another unit that it divides them into, and
// what takes its pairs; only one by records may leave some, or make notes. A `reduce` tells whether a
// further value `begins` between two pairs of a group, and is called for the value of the pairs from one such
// place up to the next; with the sums of the values before each pair, if it wants `SUMS`.
#pragma once

#include "cut.hpp"
#include "lexicon.hpp"
#include "mars.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

// Finds terms in text whose terms have a blank behind them, and no other blank is there.
struct Blanks {
  const uint8_t* bytes;
  // Where the first term from `at` on starts, or the end.
  TOKAPI_FN uint32_t find(uint32_t at, uint32_t end) const {
    while (at < end && bytes[at] == ' ') at++;
    return at;
  }
  TOKAPI_FN uint32_t length(uint32_t start, uint32_t end) const {
    uint32_t at = start;
    while (at < end && bytes[at] != ' ') at++;
    return at - start;
  }
};

// Finds terms in a text of which it is known what belongs to terms.
struct Inside {
  const uint64_t* inside;
  TOKAPI_FN uint32_t find(uint32_t at, uint32_t end) const {
    while (at < end) {
      uint64_t bits = inside[at / 64] >> (at % 64);
      if (bits) return at + lowest_one(bits) < end ? at + lowest_one(bits) : end;
      at = at / 64 * 64 + 64;
    }
    return end;
  }
  TOKAPI_FN uint32_t length(uint32_t start, uint32_t end) const {
    uint32_t at = start;
    while (at < end) {
      uint64_t outside = ~inside[at / 64] >> (at % 64);
      if (outside) {
        at += lowest_one(outside);
        break;
      }
      at = at / 64 * 64 + 64;
    }
    return (at < end ? at : end) - start;
  }
};

// A `map` of one record a thread.
struct ByRecord {
  uint64_t units(const Records& records) const { return records.count; }
};

// function(start, length) for every term of a record.
template <class Finder, class F>
TOKAPI_FN void for_each_term(const Records& records, uint64_t r, const Finder& finder, F function) {
  uint32_t end = records.starts[r + 1];
  for (uint32_t at = finder.find(records.starts[r], end); at < end;) {
    uint32_t length = finder.length(at, end);
    function(at, length);
    at = finder.find(at + length, end);
  }
}

// (term, record) for every term. A thread takes the terms that start in a piece of text: records may be few,
// and some of them long.
template <class Finder>
struct MapTerms {
  static constexpr uint32_t PIECE = 256;
  Finder finder;

  uint64_t units(const Records& records) const { return (uint64_t(records.until) - records.from + PIECE - 1) / PIECE; }

  template <class Emit>
  TOKAPI_FN void operator()(const Records& records, uint64_t unit, Emit& emit) const {
    uint32_t start = records.from + static_cast<uint32_t>(unit) * PIECE, end = records.until;
    uint32_t until = end - start > PIECE ? start + PIECE : end;
    // What is left of a term that started before is passed over.
    uint32_t at = unit == 0 ? start : start - 1 + finder.length(start - 1, until);
    at = finder.find(at, until);
    if (at >= until) return;
    uint64_t r = upper_bound(records.starts, 0, records.count + 1, at) - 1;
    while (at < until) {
      while (records.starts[r + 1] <= at) r++;
      uint32_t length = finder.length(at, end);
      emit.text(slice_of(at, length), r);
      if (length >= until - at) return;
      at = finder.find(at + length, until);
    }
  }
};

// (the record, its number).
struct MapWhole : ByRecord {
  template <class Emit>
  TOKAPI_FN void operator()(const Records& records, uint64_t r, Emit& emit) const {
    uint32_t start = records.starts[r];
    emit.text(slice_of(start, records.starts[r + 1] - start), r);
  }
};

// (0, a record and its terms), in the upper and the lower half: a chunk has fewer than 2^32 of both.
struct MapLengths : ByRecord {
  template <class Emit>
  TOKAPI_FN void operator()(const Records& records, uint64_t r, Emit& emit) const {
    uint64_t terms = 0;
    for_each_term(records, r, Blanks{records.bytes}, [&](uint32_t, uint32_t) { terms++; });
    emit.words(0, 0, uint64_t(1) << 32 | terms);
  }
};

// Of a record of distinct terms (term, none) and (term, other term) for every other.
struct MapCooccurrences : ByRecord {
  template <class Emit>
  TOKAPI_FN void operator()(const Records& records, uint64_t r, Emit& emit) const {
    Blanks blanks{records.bytes};
    for_each_term(records, r, blanks, [&](uint32_t given, uint32_t given_length) {
      for_each_term(records, r, blanks, [&](uint32_t start, uint32_t length) {
        emit.text(slice_of(given, given_length), start == given ? 0 : slice_of(start, length));
      });
    });
  }
};

// The bytes of the white space of Unicode at `at`; 0 where there is another character.
TOKAPI_FN uint32_t white_space(const uint8_t* bytes, uint32_t at, uint32_t end) {
  uint32_t a = bytes[at];
  if (a == ' ' || (a >= 9 && a <= 13)) return 1;
  if (a < 0x80) return 0;
  uint32_t b = at + 1 < end ? bytes[at + 1] : 0, c = at + 2 < end ? bytes[at + 2] : 0;
  if (a == 0xC2 && (b == 0x85 || b == 0xA0)) return 2;
  bool three = (a == 0xE1 && b == 0x9A && c == 0x80) || (a == 0xE3 && b == 0x80 && c == 0x80) ||
               (a == 0xE2 && b == 0x81 && c == 0x9F) ||
               (a == 0xE2 && b == 0x80 && ((c >= 0x80 && c <= 0x8A) || c == 0xA8 || c == 0xA9 || c == 0xAF));
  return three ? 3 : 0;
}

// Of a line with two names (first, second) and (second, none); none of a comment or an empty line.
struct MapEdges : ByRecord {
  template <class Emit>
  TOKAPI_FN void operator()(const Records& records, uint64_t r, Emit& emit) const {
    const uint8_t* bytes = records.bytes;
    uint32_t at = records.starts[r], end = records.starts[r + 1], names = 0;
    if (at < end && bytes[at] == '#') return;
    uint64_t name[2] = {0, 0};
    while (at < end) {
      uint32_t space = white_space(bytes, at, end);
      if (space) {
        at += space;
        continue;
      }
      uint32_t start = at;
      while (at < end && white_space(bytes, at, end) == 0) at++;
      if (names < 2) name[names] = slice_of(start, at - start);
      names++;
    }
    if (names == 0) return;
    if (names != 2) return emit.leave();
    emit.text(name[0], name[1]);
    emit.text(name[1], 0);
  }
};

// Where the field that begins at `at` ends.
TOKAPI_FN uint32_t field_end(const uint8_t* bytes, uint32_t at, uint32_t end) {
  while (at < end && bytes[at] != '\t') at++;
  return at;
}

// (the first field of a line, record).
struct MapFirstField : ByRecord {
  template <class Emit>
  TOKAPI_FN void operator()(const Records& records, uint64_t r, Emit& emit) const {
    uint32_t start = records.starts[r];
    emit.text(slice_of(start, field_end(records.bytes, start, records.starts[r + 1]) - start), r);
  }
};

// Reads the number of the next field as the host does, digits perhaps after a plus, and moves behind it; false
// where there is none below 2^32.
TOKAPI_FN bool read_number(const uint8_t* bytes, uint32_t& at, uint32_t end, uint64_t& number) {
  if (at >= end) return false;
  uint32_t start = at + 1, until = field_end(bytes, start, end);
  at = until;
  if (start < until && bytes[start] == '+') start++;
  number = 0;
  for (uint32_t i = start; i < until; i++) {
    if (bytes[i] < '0' || bytes[i] > '9' || number >> 32) return false;
    number = 10 * number + (bytes[i] - '0');
  }
  return start < until && number >> 32 == 0;
}

// Of a line `term<TAB>document<TAB>tf` (term, record); document and tf are the note, in the upper and the lower
// half.
struct MapPostings : ByRecord {
  template <class Emit>
  TOKAPI_FN void operator()(const Records& records, uint64_t r, Emit& emit) const {
    uint32_t start = records.starts[r], end = records.starts[r + 1];
    uint32_t at = field_end(records.bytes, start, end), length = at - start;
    uint64_t document = 0, tf = 0;
    if (!read_number(records.bytes, at, end, document) || !read_number(records.bytes, at, end, tf)) return emit.leave();
    emit.text(slice_of(start, length), r);
    emit.note(0, document << 32 | tf);
  }
};

// The hash that the host gives these bytes.
TOKAPI_FN uint64_t hash_bytes(const uint8_t* bytes, uint32_t length) {
  constexpr uint64_t A = 0x9E3779B97F4A7C15, B = 0xD6E8FEB86659FD93;
  auto word = [=](uint32_t at) { return at < length ? first_bytes(load_8(bytes + at), length - at) : 0; };
  if (length < 16) return mix(word(0) ^ A, (word(8) | uint64_t(length) << 56) ^ B);
  uint64_t state = A;
  for (uint32_t at = 0; at < length; at += 16) state = mix(state ^ word(at), word(at + 8) ^ B);
  return mix(state ^ A, length ^ B);
}

// The bands of a document's MinHash signature: a key has the band's number and its four hashes, the last
// of which stands in the upper half of the value, and the record in the lower. The signature is the note.
struct MapBands : ByRecord {
  static constexpr uint32_t HASHES = 64, ROWS = 4, SHINGLE = 3;
  template <class Emit>
  TOKAPI_FN void operator()(const Records& records, uint64_t r, Emit& emit) const {
    Blanks blanks{records.bytes};
    uint32_t end = records.starts[r + 1], first = blanks.find(records.starts[r], end);
    if (first >= end) return;
    uint32_t least[HASHES];
    if (Emit::WRITES) sign(records, r, least);
    for (uint32_t i = 0; i < HASHES / 2; i++) {
      if (Emit::WRITES) emit.note(i, uint64_t(least[2 * i + 1]) << 32 | least[2 * i]);
    }
    for (uint32_t band = 0; band < HASHES / ROWS; band++) {
      const uint32_t* row = least + band * ROWS;
      if (Emit::WRITES) {
        emit.words(uint64_t(band) << 32 | row[0], uint64_t(row[1]) << 32 | row[2], uint64_t(row[3]) << 32 | r);
      } else {
        emit.words(0, 0, 0);
      }
    }
  }

  // The least of every hash over all shingles: three terms, or all where there are fewer, each with the blank
  // behind it.
  TOKAPI_FN static void sign(const Records& records, uint64_t r, uint32_t* least) {
    for (uint32_t i = 0; i < HASHES; i++) least[i] = ~uint32_t(0);
    uint32_t starts[SHINGLE] = {}, terms = 0, behind = 0;
    for_each_term(records, r, Blanks{records.bytes}, [&](uint32_t start, uint32_t length) {
      for (uint32_t i = 0; i + 1 < SHINGLE; i++) starts[i] = starts[i + 1];
      starts[SHINGLE - 1] = start;
      behind = start + length + 1;
      terms++;
      if (terms >= SHINGLE) add(records.bytes + starts[0], behind - starts[0], least);
    });
    if (terms < SHINGLE) add(records.bytes + starts[SHINGLE - terms], behind - starts[SHINGLE - terms], least);
  }

  TOKAPI_FN static void add(const uint8_t* shingle, uint32_t length, uint32_t* least) {
    uint64_t hash = hash_bytes(shingle, length);
    for (uint64_t i = 0; i < HASHES; i++) {
      uint64_t multiplier = ((2 * i + 1) * 0x9E3779B97F4A7C15) | 1;
      uint32_t mixed = static_cast<uint32_t>(((hash ^ hash >> 29 ^ i << 40) * multiplier) >> 32);
      if (mixed < least[i]) least[i] = mixed;
    }
  }
};

// Of a node, its number, its rank, and the nodes it links to (node, 0) and (other, its share of the rank).
struct MapRanks : ByRecord {
  template <class Emit>
  TOKAPI_FN void operator()(const Records& records, uint64_t r, Emit& emit) const {
    const uint8_t* at = records.bytes + records.starts[r];
    uint64_t links = (records.starts[r + 1] - records.starts[r] - 16) / 4, rank = load_8(at + 8);
    emit.words(load_8(at), 0, 0);
    for (uint64_t i = 0; i < links; i++) {
      emit.words(load_8(at + 16 + 4 * i) & 0xFFFFFFFF, 0, rank / links);
    }
  }
};

// Of three words, two of which are the key, the pair.
struct MapWords : ByRecord {
  template <class Emit>
  TOKAPI_FN void operator()(const Records& records, uint64_t r, Emit& emit) const {
    const uint8_t* at = records.bytes + records.starts[r];
    emit.words(load_8(at), load_8(at + 8), load_8(at + 16));
  }
};

// All values.
struct ReduceNothing {
  static constexpr bool SUMS = false;
  TOKAPI_FN bool begins(const Emitted&, const Emitted&) const { return true; }
  TOKAPI_FN uint64_t operator()(const Emitted* pairs, const uint64_t*, uint32_t from, uint32_t) const {
    return pairs[from].value;
  }
};

// How many there are.
struct ReduceCount {
  static constexpr bool SUMS = false;
  TOKAPI_FN bool begins(const Emitted&, const Emitted&) const { return false; }
  TOKAPI_FN uint64_t operator()(const Emitted*, const uint64_t*, uint32_t from, uint32_t until) const {
    return until - from;
  }
};

struct ReduceSum {
  static constexpr bool SUMS = true;
  TOKAPI_FN bool begins(const Emitted&, const Emitted&) const { return false; }
  TOKAPI_FN uint64_t operator()(const Emitted*, const uint64_t* sums, uint32_t from, uint32_t until) const {
    return sums[until] - sums[from];
  }
};

// Every value below 2^32 in the upper half, and how often it is there in the lower.
struct ReduceRuns {
  static constexpr bool SUMS = false;
  TOKAPI_FN bool begins(const Emitted& before, const Emitted& here) const { return before.value != here.value; }
  TOKAPI_FN uint64_t operator()(const Emitted* pairs, const uint64_t*, uint32_t from, uint32_t until) const {
    return pairs[from].value << 32 | (until - from);
  }
};

// The least.
struct ReduceFirst {
  static constexpr bool SUMS = false;
  TOKAPI_FN bool begins(const Emitted&, const Emitted&) const { return false; }
  TOKAPI_FN uint64_t operator()(const Emitted* pairs, const uint64_t*, uint32_t from, uint32_t) const {
    return pairs[from].value;
  }
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
