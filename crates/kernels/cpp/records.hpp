// The kinds of records that are sorted, and each algorithm on them. All are stable.
#pragma once

#include "bitonic.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the key of a 32-bit pair is its lower half");

struct alignas(16) Pair64 {
  uint64_t key, value;
};

// The kinds: what records are on the device, and what they are sorted by.
struct Keys32 {
  using Item = uint32_t;
  TOKAPI_FN static uint32_t key(Item item) { return item; }
};
struct Keys64 {
  using Item = uint64_t;
  TOKAPI_FN static uint64_t key(Item item) { return item; }
};
struct Pairs32 {
  // The key, which comes first in memory, is the lower half.
  using Item = uint64_t;
  TOKAPI_FN static uint32_t key(Item item) { return static_cast<uint32_t>(item); }
};
struct Pairs64 {
  using Item = Pair64;
  TOKAPI_FN static uint64_t key(const Item& item) { return item.key; }
};

template <class Kind>
struct ByKey {
  using Item = typename Kind::Item;
  TOKAPI_FN bool operator()(const Item& a, const Item& b) const { return Kind::key(a) < Kind::key(b); }
};

// By a key and the place it had, which stands as its value.
struct ByKeyAndPlace {
  TOKAPI_FN bool operator()(const Pair64& a, const Pair64& b) const {
    return a.key < b.key || (a.key == b.key && a.value < b.value);
  }
};

// Each of the following sorts `items` with the help of `others`, which has as much room, and gives
// where the result lies, one of the two.

inline uint32_t* by_radix(Keys32, Queue& queue, uint32_t* items, uint32_t* others, uint64_t count) {
  return sort_keys(queue, items, others, count, 0, 32);
}
inline uint64_t* by_radix(Keys64, Queue& queue, uint64_t* items, uint64_t* others, uint64_t count) {
  return sort_keys(queue, items, others, count, 0, 64);
}
inline uint64_t* by_radix(Pairs32, Queue& queue, uint64_t* items, uint64_t* others, uint64_t count) {
  return sort_keys(queue, items, others, count, 0, 32);
}
inline Pair64* by_radix(Pairs64, Queue& queue, Pair64* items, Pair64* others, uint64_t count) {
  return sort_by_key(queue, items, others, count);
}

// Equal keys cannot be told apart.
template <class Keys, class Item>
Item* by_bitonic(Keys, Queue& queue, Item* items, Item*, uint64_t count) {
  bitonic_sort(queue, items, count, ByKey<Keys>{});
  return items;
}

// Pairs are sorted by key and place, so that each is unlike all others; then values follow.
inline uint64_t* by_bitonic(Pairs32, Queue& queue, uint64_t* items, uint64_t* others, uint64_t count) {
  for_each(queue, count, [=] TOKAPI_LAMBDA(uint64_t i) { others[i] = items[i] << 32 | i; });
  bitonic_sort(queue, others, count, ByKey<Keys64>{});
  for_each(queue, count, [=] TOKAPI_LAMBDA(uint64_t i) {
    uint64_t value = items[static_cast<uint32_t>(others[i])] >> 32;
    others[i] = value << 32 | others[i] >> 32;
  });
  return others;
}
inline Pair64* by_bitonic(Pairs64, Queue& queue, Pair64* items, Pair64* others, uint64_t count) {
  for_each(queue, count, [=] TOKAPI_LAMBDA(uint64_t i) { others[i] = Pair64{items[i].key, i}; });
  bitonic_sort(queue, others, count, ByKeyAndPlace{});
  for_each(queue, count, [=] TOKAPI_LAMBDA(uint64_t i) { others[i].value = items[others[i].value].value; });
  return others;
}

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
