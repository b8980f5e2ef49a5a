// Looking terms up in a dictionary, a succinct trie of flat arrays, on the host or on a GPU, one
// term a thread.
//
// The arrays, and what is in them, are those of `tokapi::dictionary::Arrays`
// (crates/weigh/src/dictionary/arrays.rs), whose `lookup` this one equals; they must come from a
// dictionary that was built or opened there, which is where they are checked. Two dependent memory
// accesses for every byte on the way to a leaf (a block of nodes, the labels), less at the first
// bytes (the shortcuts), and two more for the leaf (a block of leaves, the tails).
#pragma once

#include <cstdint>

#include "platform.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

// What `lookup` gives for a term that is not in the dictionary.
constexpr uint32_t UNKNOWN_TERM = 0xFFFFFFFFu;

// The arrays of a dictionary, where the code that walks them can read them.
using Dictionary = tokapi_dictionary;

namespace dictionary {

// Where a node's labels and children stand. There are fewer than 2^32 of each.
struct Node {
  uint32_t label_start;
  uint32_t label_end;
  uint32_t child_start;
  uint32_t child_end;
};

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
      const uint32_t label = at * 8 + lowest_one(equal) / 8;
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
// NO_LEAF where none ends there.
constexpr uint32_t NO_LEAF = 0xFFFFFFFFu;

TOKAPI_FN uint32_t end_leaf(const Dictionary& dictionary, const Node& node) {
  const uint32_t count = node.label_end - node.label_start;
  if (count == 0) return 0;  // The root of the empty term alone.
  if (count == 1) return NO_LEAF;
  const bool repeats =
      label_at(dictionary, node.label_start) == label_at(dictionary, node.label_end - 1);
  return repeats ? node.label_end - node.child_end : NO_LEAF;
}

// Whether the long tail whose offset and length stand at `place` is the `length` bytes at `rest`.
TOKAPI_FN bool long_tail_is(const Dictionary& dictionary, const uint8_t* place, const uint8_t* rest,
                            uint32_t length) {
  uint64_t offset = 0, tail_length = 0;
  for (uint32_t i = 8; i-- > 0;) offset = offset << 8 | place[i];
  for (uint32_t i = 15; i-- > 8;) tail_length = tail_length << 8 | place[i];
  if (tail_length != length) return false;
  for (uint32_t i = 0; i < length; ++i) {
    if (dictionary.tails[offset + i] != rest[i]) return false;
  }
  return true;
}

// The id of the term of a leaf whose tail is the `length` bytes at `rest`, or UNKNOWN_TERM.
TOKAPI_FN uint32_t find_tail(const Dictionary& dictionary, uint32_t leaf, const uint8_t* rest,
                             uint32_t length) {
  const uint64_t* block = dictionary.leaves + static_cast<uint64_t>(leaf / 8) * 4;
  const uint32_t place = leaf % 8;
  const uint64_t starts = block[2 + place / 4];
  const uint8_t* at = dictionary.tails + block[0] + (starts >> (place % 4 * 16) & 0xFFFF);
  // The terms of the leaves before this one are the sum of their four-bit counts.
  const uint64_t ids = block[1];
  const uint32_t counts = static_cast<uint32_t>(ids >> 32);
  const uint32_t before = counts & ~(~0u << (place * 4));
  const uint32_t pairs = (before & 0x0F0F0F0Fu) + (before >> 4 & 0x0F0F0F0Fu);
  uint32_t id = static_cast<uint32_t>(ids) + (pairs * 0x01010101u >> 24);
  const uint32_t end = id + (counts >> (place * 4) & 15);
  for (; id < end; ++id) {
    const uint32_t tail_length = *at++;
    if (tail_length == 255) {
      if (length >= 255 && long_tail_is(dictionary, at, rest, length)) return id;
      at += 15;
      continue;
    }
    if (tail_length == length) {
      uint32_t i = 0;
      while (i < length && at[i] == rest[i]) ++i;
      if (i == length) return id;
    }
    at += tail_length;
  }
  return UNKNOWN_TERM;
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
    if (depth == length) {
      const uint32_t leaf = dictionary::end_leaf(dictionary, at);
      if (leaf == dictionary::NO_LEAF) return UNKNOWN_TERM;
      return dictionary::find_tail(dictionary, leaf, term + depth, 0);
    }
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
    return dictionary::find_tail(dictionary, leaf, term + depth, length - depth);
  }
}

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
