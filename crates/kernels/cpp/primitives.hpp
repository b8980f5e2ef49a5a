// The five data-parallel primitives that everything above is made of: scan, sort (and merge),
// compact, load-balancing search and count; and `for_each` and `for_each_tile`, which run a function
// for every element, the latter round after round on items in fast memory.
//
// On a device they are CUB's, on the host plain loops; what they give is the same. A function
// passed in is called for elements in any order and at once, so it may not depend on the order.
#pragma once

#include "platform.hpp"

#ifdef __CUDACC__
#include <cub/device/device_merge.cuh>
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <cuda/std/tuple>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#else
#include <algorithm>
#include <vector>
#endif

namespace tokapi {
namespace TOKAPI_BACKEND {

// Items that fit into a block's fast memory together: 17 to 34 KiB of the 48 that every GPU has.
template <class T>
constexpr uint32_t TILE_ITEMS = sizeof(T) > 16 ? 1024 : sizeof(T) > 8 ? 2048 : 4096;

// A tile of items in fast memory. After every 16 a place is left empty: threads that each take 16
// neighbours then meet in no bank.
template <class T>
class Tile {
 public:
  TOKAPI_FN T& operator[](uint32_t i) { return items_[i + i / 16]; }

 private:
  T items_[TILE_ITEMS<T> + TILE_ITEMS<T> / 16];
};

// The items in the tile that begins at `base`.
template <class T>
TOKAPI_FN uint32_t tile_count(uint64_t count, uint64_t base) {
  return static_cast<uint32_t>(count - base < TILE_ITEMS<T> ? count - base : TILE_ITEMS<T>);
}

#ifdef __CUDACC__

constexpr uint32_t BLOCK_THREADS = 256;

template <class F>
__global__ void __launch_bounds__(BLOCK_THREADS) run_each(uint64_t count, F function) {
  uint64_t i = uint64_t(blockIdx.x) * BLOCK_THREADS + threadIdx.x;
  if (i < count) function(i);
}

// function(i) for every i below `count`, one thread each.
template <class F>
void for_each(Queue& queue, uint64_t count, F function) {
  if (count == 0) return;
  uint64_t blocks = (count + BLOCK_THREADS - 1) / BLOCK_THREADS;
  run_each<<<static_cast<uint32_t>(blocks), BLOCK_THREADS, 0, queue.stream()>>>(count, function);
  check(cudaGetLastError(), "starting a kernel");
}

// Runs a primitive of CUB: first asks for its temporary memory, then gives it.
template <class Call>
void with_scratch(Queue& queue, const char* doing, Call call) {
  size_t bytes = 0;
  check(call(nullptr, bytes), doing);
  check(call(queue.scratch(bytes), bytes), doing);
}

// `value` with a 0 after its last. A type of its own, since the result of a device's lambda cannot be
// told on the host.
template <class T, class F>
struct Padded {
  uint64_t count;
  F value;
  __device__ T operator()(uint64_t i) const { return i < count ? static_cast<T>(value(i)) : 0; }
};

// out[i] = value(0) + ... + value(i - 1), for every i up to and with `count`.
template <class T, class F>
void scan(Queue& queue, uint64_t count, F value, T* out) {
  thrust::transform_iterator<Padded<T, F>, thrust::counting_iterator<uint64_t>, T, T> values(
      thrust::counting_iterator<uint64_t>(0), Padded<T, F>{count, value});
  with_scratch(queue, "scanning", [&](void* scratch, size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(scratch, bytes, values, out, count + 1, queue.stream());
  });
}

template <class F>
struct Kept {
  F keep;
  __device__ bool operator()(uint32_t i) const { return keep(i); }
};

// Every i below `count` for which keep(i) holds, ascending; how many to `kept`.
template <class F>
void compact(Queue& queue, uint64_t count, F keep, uint32_t* out, uint32_t* kept) {
  if (count == 0) return fill(queue, kept, 0, sizeof(uint32_t));
  with_scratch(queue, "compacting", [&](void* scratch, size_t& bytes) {
    return cub::DeviceSelect::If(scratch, bytes, thrust::counting_iterator<uint32_t>(0), out, kept, count,
                                 Kept<F>{keep}, queue.stream());
  });
}

// Sorts by the bits from `from` on and below `to`, by radix, stable. The result is in the buffer
// that is returned, one of the two.
template <class T>
T* sort_keys(Queue& queue, T* keys, T* other, uint64_t count, uint32_t from, uint32_t to) {
  if (count == 0) return keys;
  cub::DoubleBuffer<T> buffers(keys, other);
  with_scratch(queue, "sorting", [&](void* scratch, size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(scratch, bytes, buffers, count, from, to, queue.stream());
  });
  return buffers.Current();
}

// What tells CUB the part of an item that it is sorted by.
template <class T>
struct KeyOf {
  __host__ __device__ ::cuda::std::tuple<uint64_t&> operator()(T& item) const { return {item.key}; }
};

// The same for items that are more than their 64-bit `key`, by which they are sorted.
template <class T>
T* sort_by_key(Queue& queue, T* items, T* other, uint64_t count) {
  if (count == 0) return items;
  cub::DoubleBuffer<T> buffers(items, other);
  with_scratch(queue, "sorting", [&](void* scratch, size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(scratch, bytes, buffers, count, KeyOf<T>{}, 0, 64, queue.stream());
  });
  return buffers.Current();
}

// The same for keys with values. Both results lie in their `other` buffer.
inline void sort_pairs(Queue& queue, const uint64_t* keys, uint64_t* other_keys, const uint32_t* values,
                       uint32_t* other_values, uint64_t count) {
  if (count == 0) return;
  with_scratch(queue, "sorting", [&](void* scratch, size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, other_keys, values, other_values, count, 0, 64,
                                           queue.stream());
  });
}

// Sorts in place by less(a, b), by merging, stable.
template <class T, class Less>
void merge_sort(Queue& queue, T* items, uint64_t count, Less less) {
  if (count == 0) return;
  with_scratch(queue, "sorting", [&](void* scratch, size_t& bytes) {
    return cub::DeviceMergeSort::StableSortKeys(scratch, bytes, items, count, less, queue.stream());
  });
}

// Merges two sorted arrays into a third; equal items may come in any order.
template <class T, class Less>
void merge(Queue& queue, const T* a, uint64_t a_count, const T* b, uint64_t b_count, T* out, Less less) {
  with_scratch(queue, "merging", [&](void* scratch, size_t& bytes) {
    return cub::DeviceMerge::MergeKeys(scratch, bytes, a, static_cast<int64_t>(a_count), b,
                                       static_cast<int64_t>(b_count), out, less, queue.stream());
  });
}

template <class T, class F>
__global__ void __launch_bounds__(BLOCK_THREADS)
    run_tiles(T* items, uint64_t count, uint32_t rounds, const __grid_constant__ F function) {
  __shared__ Tile<T> tile;
  uint64_t base = uint64_t(blockIdx.x) * TILE_ITEMS<T>;
  uint32_t here = tile_count<T>(count, base);
  for (uint32_t i = threadIdx.x; i < here; i += BLOCK_THREADS) tile[i] = items[base + i];
  __syncthreads();
  for (uint32_t round = 0; round < rounds; round++) {
    uint32_t calls = function.calls(round);
    for (uint32_t i = threadIdx.x; i < calls; i += BLOCK_THREADS) function(round, tile, here, i);
    __syncthreads();
  }
  for (uint32_t i = threadIdx.x; i < here; i += BLOCK_THREADS) items[base + i] = tile[i];
}

// For every tile of TILE_ITEMS<T> items, the last of which may have fewer: brings it into fast memory;
// for one round after the other calls function(round, tile, items in it, i) for every i below
// function.calls(round), at once; and writes the tile back.
template <class T, class F>
void for_each_tile(Queue& queue, T* items, uint64_t count, uint32_t rounds, F function) {
  if (count == 0) return;
  uint64_t tiles = (count + TILE_ITEMS<T> - 1) / TILE_ITEMS<T>;
  run_tiles<<<static_cast<uint32_t>(tiles), BLOCK_THREADS, 0, queue.stream()>>>(items, count, rounds, function);
  check(cudaGetLastError(), "starting a kernel");
}

#else  // the host build

template <class F>
void for_each(Queue&, uint64_t count, F function) {
  for (uint64_t i = 0; i < count; i++) function(i);
}

template <class T, class F>
void scan(Queue&, uint64_t count, F value, T* out) {
  T sum = 0;
  for (uint64_t i = 0; i < count; i++) {
    out[i] = sum;
    sum += value(i);
  }
  out[count] = sum;
}

template <class F>
void compact(Queue&, uint64_t count, F keep, uint32_t* out, uint32_t* kept) {
  uint32_t found = 0;
  for (uint64_t i = 0; i < count; i++) {
    if (keep(static_cast<uint32_t>(i))) out[found++] = static_cast<uint32_t>(i);
  }
  *kept = found;
}

template <class T>
T* sort_keys(Queue&, T* keys, T*, uint64_t count, uint32_t from, uint32_t to) {
  uint64_t mask = to - from == 64 ? ~uint64_t(0) : ((uint64_t(1) << (to - from)) - 1) << from;
  std::stable_sort(keys, keys + count, [=](T a, T b) { return (a & mask) < (b & mask); });
  return keys;
}

template <class T>
T* sort_by_key(Queue&, T* items, T*, uint64_t count) {
  std::stable_sort(items, items + count, [](const T& a, const T& b) { return a.key < b.key; });
  return items;
}

inline void sort_pairs(Queue&, const uint64_t* keys, uint64_t* other_keys, const uint32_t* values,
                       uint32_t* other_values, uint64_t count) {
  std::vector<uint32_t> order(count);
  for (uint64_t i = 0; i < count; i++) order[i] = static_cast<uint32_t>(i);
  std::stable_sort(order.begin(), order.end(), [=](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
  for (uint64_t i = 0; i < count; i++) {
    other_keys[i] = keys[order[i]];
    other_values[i] = values[order[i]];
  }
}

template <class T, class Less>
void merge_sort(Queue&, T* items, uint64_t count, Less less) {
  std::stable_sort(items, items + count, less);
}

template <class T, class Less>
void merge(Queue&, const T* a, uint64_t a_count, const T* b, uint64_t b_count, T* out, Less less) {
  std::merge(a, a + a_count, b, b + b_count, out, less);
}

template <class T, class F>
void for_each_tile(Queue&, T* items, uint64_t count, uint32_t rounds, F function) {
  Tile<T> tile;
  for (uint64_t base = 0; base < count; base += TILE_ITEMS<T>) {
    uint32_t here = tile_count<T>(count, base);
    for (uint32_t i = 0; i < here; i++) tile[i] = items[base + i];
    for (uint32_t round = 0; round < rounds; round++) {
      for (uint32_t i = 0; i < function.calls(round); i++) function(round, tile, here, i);
    }
    for (uint32_t i = 0; i < here; i++) items[base + i] = tile[i];
  }
}

#endif

// Tells the host a few numbers: they lie at `here`, in pinned memory, once the queue has been waited
// for. Written by a kernel, so that they need not wait behind large downloads.
template <class T>
void tell(Queue& queue, T* here, const T* there, uint64_t count) {
  for_each(queue, count, [=] TOKAPI_LAMBDA(uint64_t i) { here[i] = there[i]; });
}

// The number of entries of ascending `offsets` that are not above `i`.
template <class T>
TOKAPI_FN uint64_t upper_bound(const T* offsets, uint64_t low, uint64_t high, T i) {
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (offsets[middle] <= i) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Elements whose segment is found together.
constexpr uint64_t TILE = 256;

// Finds for every tile of TILE elements, of `count` in all, the segment that its first is in, and
// that of the last of all: segment s begins at offsets[s], the first at 0. `tiles` has room for
// count / TILE + 2.
inline void find_tiles(Queue& queue, const uint32_t* offsets, uint64_t segments, uint64_t count, uint32_t* tiles) {
  if (count == 0) return;
  uint64_t tile_count = (count + TILE - 1) / TILE;
  for_each(queue, tile_count + 1, [=] TOKAPI_LAMBDA(uint64_t tile) {
    uint64_t first = tile * TILE < count ? tile * TILE : count - 1;
    tiles[tile] = static_cast<uint32_t>(upper_bound(offsets, 0, segments, static_cast<uint32_t>(first)));
  });
}

// The segment of element i: sought between the two of its tile, so that the work of a thread does not
// depend on how long segments are.
TOKAPI_FN uint64_t segment_of(const uint32_t* offsets, const uint32_t* tiles, uint64_t i) {
  const uint32_t* bounds = tiles + i / TILE;
  return upper_bound(offsets, bounds[0], bounds[1], static_cast<uint32_t>(i)) - 1;
}

// function(i, segment) for every i below `count`, with offsets and tiles as of find_tiles.
template <class F>
void load_balancing_search(Queue& queue, const uint32_t* offsets, uint64_t segments, uint64_t count,
                           uint32_t* tiles, F function) {
  find_tiles(queue, offsets, segments, count, tiles);
  for_each(queue, count, [=] TOKAPI_LAMBDA(uint64_t i) { function(i, segment_of(offsets, tiles, i)); });
}

// Counts equal neighbours: differs(i) tells whether element i differs from the one before it. The
// start of every run goes to `starts`, which has room for `count` + 1, their number to `runs`;
// starts[r + 1] - starts[r] is the length of run r once starts[runs] = count is set by the caller.
template <class F>
void count_runs(Queue& queue, uint64_t count, F differs, uint32_t* starts, uint32_t* runs) {
  compact(queue, count, [=] TOKAPI_LAMBDA(uint32_t i) { return i == 0 || differs(i); }, starts, runs);
}

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
