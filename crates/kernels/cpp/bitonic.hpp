// Bitonic sorting (Batcher 1968): a network of comparisons that is the same whatever the items are.
//
// Phase p sorts blocks of 2^p items, each from two sorted halves: its first step compares every item
// with its mirror image in the block, each further step items that are half as far apart as in
// the step before. Every comparison puts the lesser item first, so a block that is not full needs no
// items to fill it: they would be greater than all others, stay where they are, and a comparison
// with one of them does nothing.
//
// Several steps are done at a time, so that items are moved once for all of them: the 2^s items that
// s steps compare with each other form a group, which a thread holds in registers. Groups
// within a tile are taken from fast memory, all steps there in one go.
#pragma once

#include "primitives.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

// Steps done at a time; a group of four has 16 items, two or four registers each at most.
template <class T>
constexpr uint32_t MOST_STEPS = sizeof(T) > 8 ? 3 : 4;

// Consecutive steps of one phase: the last compares items 2^stride_bits apart.
struct Round {
  uint8_t steps;
  uint8_t stride_bits;
  // Whether the first is that of a phase.
  bool mirrored;

  // The number of groups among `count` items, the last of which may not be full.
  TOKAPI_FN uint64_t groups(uint64_t count) const {
    uint32_t block_bits = stride_bits + steps;
    return ((count + (uint64_t(1) << block_bits) - 1) >> block_bits) << stride_bits;
  }
};

// One group of a round with so many steps. `items` are `count` in memory of any kind, which `Index`
// can count.
template <uint32_t STEPS, bool MIRRORED, class T, class Memory, class Index, class Less>
TOKAPI_FN void exchange(Memory& items, Index count, uint32_t stride_bits, Index group, Less less) {
  constexpr uint32_t SIZE = 1u << STEPS;
  Index stride = Index(1) << stride_bits;
  Index first = group & (stride - 1), base = (group >> stride_bits) << (stride_bits + STEPS);
  // Item e of the group. The upper half of a mirrored one are the images of the lower.
  auto place = [=](uint32_t e) {
    Index offset = MIRRORED && e >= SIZE / 2 ? stride - 1 - first : first;
    return base + (Index(e) << stride_bits) + offset;
  };
  T held[SIZE] = {};
  // Places ascend, so those that there are come first.
  uint32_t here = 0;
  TOKAPI_UNROLL
  for (uint32_t e = 0; e < SIZE; e++) {
    if (place(e) < count) {
      held[e] = items[place(e)];
      here = e + 1;
    }
  }
  TOKAPI_UNROLL
  for (uint32_t step = 0; step < STEPS; step++) {
    uint32_t apart = SIZE >> (step + 1);
    bool mirror = MIRRORED && step == 0;
    TOKAPI_UNROLL
    for (uint32_t e = 0; e < SIZE; e++) {
      uint32_t other = mirror ? SIZE - 1 - e : e + apart;
      if ((e & apart) == 0 && other < here && less(held[other], held[e])) {
        T lesser = held[other];
        held[other] = held[e];
        held[e] = lesser;
      }
    }
  }
  TOKAPI_UNROLL
  for (uint32_t e = 0; e < SIZE; e++) {
    if (e < here) items[place(e)] = held[e];
  }
}

template <uint32_t STEPS, class T, class Memory, class Index, class Less>
TOKAPI_FN void exchange(Memory& items, Index count, Round round, Index group, Less less) {
  if (round.mirrored) {
    exchange<STEPS, true, T>(items, count, round.stride_bits, group, less);
  } else {
    exchange<STEPS, false, T>(items, count, round.stride_bits, group, less);
  }
}

template <class T, class Memory, class Index, class Less>
TOKAPI_FN void exchange(Memory& items, Index count, Round round, Index group, Less less) {
  switch (round.steps) {
    case 1: return exchange<1, T>(items, count, round, group, less);
    case 2: return exchange<2, T>(items, count, round, group, less);
    case 3: return exchange<3, T>(items, count, round, group, less);
    default: return exchange<MOST_STEPS<T>, T>(items, count, round, group, less);
  }
}

// Rounds that are done on a tile in one go.
template <class T, class Less>
struct InTile {
  // All phases of a tile of 2^12 items take 24 rounds of up to four steps, of 2^11 items 26 of three.
  static constexpr uint32_t MOST_ROUNDS = 26;
  Round rounds[MOST_ROUNDS];
  uint32_t round_count;
  Less less;

  TOKAPI_FN uint32_t calls(uint32_t round) const {
    return static_cast<uint32_t>(rounds[round].groups(TILE_ITEMS<T>));
  }
  TOKAPI_FN void operator()(uint32_t round, Tile<T>& tile, uint32_t count, uint32_t group) const {
    exchange<T>(tile, count, rounds[round], group, less);
  }
};

// A round on items where they are.
template <class T, class Less>
struct InPlace {
  T* items;
  uint64_t count;
  Round round;
  Less less;
  TOKAPI_FN void operator()(uint64_t group) const {
    T* memory = items;
    exchange<T>(memory, count, round, group, less);
  }
};

// The steps of phase `phase` whose stride is below 2^above and at least 2^to, as rounds: calls
// take(round) for each in turn.
template <class T, class F>
void for_each_round(uint32_t phase, uint32_t above, uint32_t to, F take) {
  while (above > to) {
    uint32_t steps = above - to < MOST_STEPS<T> ? above - to : MOST_STEPS<T>;
    take(Round{static_cast<uint8_t>(steps), static_cast<uint8_t>(above - steps), above == phase});
    above -= steps;
  }
}

// Sorts in place by less(a, b); equal items may change places, unless less(a, b) tells them apart.
template <class T, class Less>
void bitonic_sort(Queue& queue, T* items, uint64_t count, Less less) {
  uint32_t phases = 0, tile_bits = 0;
  while ((uint64_t(1) << phases) < count) phases++;
  while ((1u << tile_bits) < TILE_ITEMS<T>) tile_bits++;
  // First whole tiles.
  InTile<T, Less> in_tile{{}, 0, less};
  auto add = [&](Round round) { in_tile.rounds[in_tile.round_count++] = round; };
  for (uint32_t phase = 1; phase <= phases && phase <= tile_bits; phase++) {
    for_each_round<T>(phase, phase, 0, add);
  }
  for_each_tile(queue, items, count, in_tile.round_count, in_tile);
  // Then larger blocks: steps between tiles one round at a time, those within together.
  in_tile.round_count = 0;
  if (phases > tile_bits) for_each_round<T>(phases, tile_bits, 0, add);
  for (uint32_t phase = tile_bits + 1; phase <= phases; phase++) {
    for_each_round<T>(phase, phase, tile_bits, [&](Round round) {
      for_each(queue, round.groups(count), InPlace<T, Less>{items, count, round, less});
    });
    for_each_tile(queue, items, count, in_tile.round_count, in_tile);
  }
}

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
