// Looking terms up in a dictionary, a succinct trie of flat arrays, on the host or on a GPU, one
// term a thread.
//
// The arrays, and what is in them, are those of `tokapi::dictionary::Arrays`
// (engine/src/dictionary/arrays.rs), whose `lookup` this one equals; they must come from a
// dictionary that was built or opened there, which is where they are checked. Two dependent memory
// accesses for every byte by which a term is told from others (a block of nodes, the labels), less
// at the first bytes (the shortcuts), and two more for the rest of it (a block of leaves, the tail).
#pragma once

#include <cstdint>

#include "platform.hpp"

namespace tokapi {

// What `lookup` gives for a term that is not in the dictionary.
constexpr uint32_t UNKNOWN_TERM = 0xFFFFFFFFu;

// The arrays of a dictionary, where the code that walks them can read them. `nodes` is best aligned
// to 32 bytes and `leaves` to 16, the size of their blocks.
struct Dictionary {
  const uint64_t* nodes;
  const uint64_t* labels;
  const uint64_t* leaves;
  const uint8_t* tails;
  const uint32_t* shortcuts;
  const uint8_t* codes;
  uint64_t node_count;
  uint64_t shortcut_depth;
  uint64_t alphabet_size;
};

namespace dictionary {

// Where a node's labels and children stand. There are fewer than 2^32 of each.
struct Node {
  uint32_t label_start;
  uint32_t label_end;
  uint32_t child_start;
  uint32_t child_end;
};

// The place of the lowest bit of a word that is not 0.
TOKAPI_FN uint32_t lowest_bit(uint64_t word) {
#ifdef __CUDA_ARCH__
  return static_cast<uint32_t>(__ffsll(static_cast<long long>(word)) - 1);
#else
  return static_cast<uint32_t>(__builtin_ctzll(word));
#endif
}

TOKAPI_FN Node node_at(const Dictionary& dictionary, uint32_t number) {
  const uint64_t* block = dictionary.nodes + static_cast<uint64_t>(number / 8) * 4;
  const uint64_t bases = block[0], label_lows = block[1], child_lows = block[2], highs = block[3];
  const uint32_t shift = number % 8 * 8;
  const uint32_t labels = static_cast<uint32_t>(bases);
  const uint32_t children = static_cast<uint32_t>(bases >> 32);
  // Shifted by one node, the ends are the starts.
  const uint32_t high_end = static_cast<uint32_t>(highs >> shift);
  const uint32_t high_start = static_cast<uint32_t>((highs << 8) >> shift);
  Node node;
  node.label_start =
      labels + (static_cast<uint32_t>((label_lows << 8) >> shift) & 255) + ((high_start & 15) << 8);
  node.label_end =
      labels + (static_cast<uint32_t>(label_lows >> shift) & 255) + ((high_end & 15) << 8);
  node.child_start =
      children + (static_cast<uint32_t>((child_lows << 8) >> shift) & 255) + ((high_start & 240) << 4);
  node.child_end =
      children + (static_cast<uint32_t>(child_lows >> shift) & 255) + ((high_end & 240) << 4);
  return node;
}

// The first place among a node's labels that has `byte`; 2^32 - 1 where none has.
TOKAPI_FN uint32_t find_label(const Dictionary& dictionary, const Node& node, uint8_t byte) {
  const uint64_t low_bits = 0x7F7F7F7F7F7F7F7Full;
  const uint64_t pattern = 0x0101010101010101ull * byte;
  uint64_t within = ~0ull << (node.label_start % 8 * 8);
  for (uint32_t at = node.label_start / 8; static_cast<uint64_t>(at) * 8 < node.label_end; ++at) {
    const uint64_t differing = dictionary.labels[at] ^ pattern;
    // The highest bit of every byte that is zero, and no other.
    const uint64_t equal = ~(((differing & low_bits) + low_bits) | differing | low_bits) & within;
    if (equal != 0) {
      const uint32_t label = at * 8 + lowest_bit(equal) / 8;
      return label < node.label_end ? label - node.label_start : 0xFFFFFFFFu;
    }
    within = ~0ull;
  }
  return 0xFFFFFFFFu;
}

TOKAPI_FN uint8_t label_at(const Dictionary& dictionary, uint32_t label) {
  return static_cast<uint8_t>(dictionary.labels[label / 8] >> (label % 8 * 8));
}

// The leaf of the term that ends at a node: the last, where its label repeats the node's first.
TOKAPI_FN uint32_t end_leaf(const Dictionary& dictionary, const Node& node) {
  const uint32_t count = node.label_end - node.label_start;
  if (count == 0) return 0;  // The root of the empty term alone.
  if (count == 1) return UNKNOWN_TERM;
  const bool repeats =
      label_at(dictionary, node.label_start) == label_at(dictionary, node.label_end - 1);
  return repeats ? node.label_end - node.child_end : UNKNOWN_TERM;
}

// Whether the tail of a leaf is the `length` bytes at `rest`.
TOKAPI_FN bool tail_is(const Dictionary& dictionary, uint32_t leaf, const uint8_t* rest,
                       uint32_t length) {
  const uint64_t nibbles = 0x0F0F0F0F0F0F0F0Full;
  const uint64_t* block = dictionary.leaves + static_cast<uint64_t>(leaf / 16) * 2;
  uint64_t start = block[0];
  const uint64_t lengths = block[1];
  const uint32_t shift = leaf % 16 * 4;
  const uint32_t tail_length = static_cast<uint32_t>(lengths >> shift) & 15;
  if (tail_length < 15 ? tail_length != length : length < 15) return false;
  const uint64_t before = lengths & ~(~0ull << shift);
  const uint64_t pairs = (before & nibbles) + (before >> 4 & nibbles);
  start += pairs * 0x0101010101010101ull >> 56;
  if (tail_length == 15) {
    uint64_t offset = 0, whole = 0;
    for (uint32_t i = 8; i-- > 0;) offset = offset << 8 | dictionary.tails[start + i];
    for (uint32_t i = 15; i-- > 8;) whole = whole << 8 | dictionary.tails[start + i];
    if (whole != length) return false;
    start = offset;
  }
  for (uint32_t i = 0; i < length; ++i) {
    if (dictionary.tails[start + i] != rest[i]) return false;
  }
  return true;
}

}  // namespace dictionary

// The id of the `length` bytes at `term`, UNKNOWN_TERM if they are not a term of the dictionary.
TOKAPI_FN uint32_t lookup(const Dictionary& dictionary, const uint8_t* term, uint32_t length) {
  if (dictionary.node_count == 0) return UNKNOWN_TERM;
  uint32_t node = 0, depth = 0;

  // Spare the first bytes, if there is a shortcut for them.
  const uint32_t spared = static_cast<uint32_t>(dictionary.shortcut_depth);
  if (length >= spared) {
    const uint32_t alphabet_size = static_cast<uint32_t>(dictionary.alphabet_size);
    uint64_t place = 0;
    bool coded = true;
    for (uint32_t i = 0; i < spared; ++i) {
      const uint32_t code = dictionary.codes[term[i]];
      coded = coded && code < alphabet_size;
      place = place * alphabet_size + code;
    }
    node = coded ? dictionary.shortcuts[place] : 0;
    depth = node == 0 ? 0 : spared;
  }

  // Walk down, a byte at a time, to the leaf.
  while (true) {
    const dictionary::Node at = dictionary::node_at(dictionary, node);
    if (depth == length) return dictionary::end_leaf(dictionary, at);
    const uint32_t place = dictionary::find_label(dictionary, at, term[depth]);
    if (place == 0xFFFFFFFFu) return UNKNOWN_TERM;
    ++depth;
    const uint32_t child_count = at.child_end - at.child_start;
    if (place < child_count) {
      node = at.child_start + place;
      continue;
    }
    // Of the labels before a node, one leads to each node but the root, the others to leaves.
    const uint32_t leaf = at.label_start + 1 - at.child_start + place - child_count;
    return dictionary::tail_is(dictionary, leaf, term + depth, length - depth) ? leaf : UNKNOWN_TERM;
  }
}

}  // namespace tokapi
