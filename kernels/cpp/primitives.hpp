// The five data-parallel primitives that everything above is made of: scan, sort, compact,
// load-balancing search and count; and `for_each`, which runs a function for every element.
//
// On a device they are CUB's, on the host plain loops; what they give is the same. A function
// passed in is called for elements in any order and at once, so it may not depend on the order.
#pragma once

#include "platform.hpp"

#ifdef __CUDACC__
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#else
#include <algorithm>
#include <vector>
#endif

namespace tokapi {
namespace TOKAPI_BACKEND {

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
inline uint64_t* sort_keys(Queue& queue, uint64_t* keys, uint64_t* other, uint64_t count, uint32_t from, uint32_t to) {
  if (count == 0) return keys;
  cub::DoubleBuffer<uint64_t> buffers(keys, other);
  with_scratch(queue, "sorting", [&](void* scratch, size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(scratch, bytes, buffers, count, from, to, queue.stream());
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

inline uint64_t* sort_keys(Queue&, uint64_t* keys, uint64_t*, uint64_t count, uint32_t from, uint32_t to) {
  uint64_t mask = to - from == 64 ? ~uint64_t(0) : ((uint64_t(1) << (to - from)) - 1) << from;
  std::stable_sort(keys, keys + count, [=](uint64_t a, uint64_t b) { return (a & mask) < (b & mask); });
  return keys;
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

// function(i, segment) for every i below `count`: segment s begins at offsets[s], the first at 0.
// First the segment at the start of every tile is searched, into `tiles`, which has room for
// count / TILE + 2; then every element searches between the two of its tile, so that the work of
// a thread does not depend on how long segments are.
template <class F>
void load_balancing_search(Queue& queue, const uint32_t* offsets, uint64_t segments, uint64_t count,
                           uint32_t* tiles, F function) {
  if (count == 0) return;
  uint64_t tile_count = (count + TILE - 1) / TILE;
  for_each(queue, tile_count + 1, [=] TOKAPI_LAMBDA(uint64_t tile) {
    uint64_t first = tile * TILE < count ? tile * TILE : count - 1;
    tiles[tile] = static_cast<uint32_t>(upper_bound(offsets, 0, segments, static_cast<uint32_t>(first)));
  });
  for_each(queue, count, [=] TOKAPI_LAMBDA(uint64_t i) {
    const uint32_t* bounds = tiles + i / TILE;
    function(i, upper_bound(offsets, bounds[0], bounds[1], static_cast<uint32_t>(i)) - 1);
  });
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
