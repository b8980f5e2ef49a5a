// What is done section by section, each by the threads of one block together: compacting within a
// section, and finding the best keys of one. Marking, the third, tells of every element whether it is kept.
#pragma once

#include "primitives.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

// No key, and behind all keys.
constexpr uint64_t NO_KEY = ~uint64_t(0);

// The most keys that can be asked for of a section.
constexpr uint32_t MOST_KEYS = 1024;

// Keys of a section that are at hand: the best, and those that came since the others were left out.
constexpr uint32_t KEYS_AT_HAND = 2048;

// Replaces `*value` by `other` where that is less. Others may do so at once.
TOKAPI_FN void lower(uint64_t* value, uint64_t other) {
#ifdef __CUDA_ARCH__
  atomicMin(reinterpret_cast<unsigned long long*>(value), static_cast<unsigned long long>(other));
#else
  if (other < *value) *value = other;
#endif
}

// Replaces `*value` by `other` where that is more, likewise.
TOKAPI_FN void raise(uint32_t* value, uint32_t other) {
#ifdef __CUDA_ARCH__
  atomicMax(value, other);
#else
  if (other > *value) *value = other;
#endif
}

// A value that others may lower at once.
TOKAPI_FN uint64_t lowered(const uint64_t* value) {
#ifdef __CUDA_ARCH__
  return *static_cast<const volatile uint64_t*>(value);
#else
  return *value;
#endif
}

#ifdef __CUDACC__

template <class F>
__global__ void __launch_bounds__(BLOCK_THREADS) run_mark(uint64_t count, F holds, uint32_t* words) {
  uint64_t i = uint64_t(blockIdx.x) * BLOCK_THREADS + threadIdx.x;
  uint32_t word = __ballot_sync(~uint32_t(0), i < count && holds(i));
  if (threadIdx.x % 32 == 0 && i < count) words[i / 32] = word;
}

// Bit i % 32 of words[i / 32] tells whether holds(i), for every i below `count`.
template <class F>
void mark(Queue& queue, uint64_t count, F holds, uint32_t* words) {
  if (count == 0) return;
  uint64_t blocks = (count + BLOCK_THREADS - 1) / BLOCK_THREADS;
  run_mark<<<static_cast<uint32_t>(blocks), BLOCK_THREADS, 0, queue.stream()>>>(count, holds, words);
  check(cudaGetLastError(), "starting a kernel");
}

template <class F>
__global__ void __launch_bounds__(BLOCK_THREADS)
    run_compact_sections(const __grid_constant__ F section, uint32_t* out, uint32_t* kept) {
  __shared__ uint32_t of_warp[BLOCK_THREADS / 32];
  uint64_t s = blockIdx.x;
  uint32_t count = section.items(s), lane = threadIdx.x % 32, warp = threadIdx.x / 32, before = 0;
  uint32_t* to = out + section.start(s);
  for (uint32_t base = 0; base < count; base += BLOCK_THREADS) {
    uint32_t i = base + threadIdx.x, value = 0;
    bool keep = i < count && section.keep(s, i, value);
    uint32_t kept_lanes = __ballot_sync(~uint32_t(0), keep);
    if (lane == 0) of_warp[warp] = __popc(kept_lanes);
    __syncthreads();
    uint32_t place = before + __popc(kept_lanes & ((uint32_t(1) << lane) - 1));
    for (uint32_t other = 0; other < BLOCK_THREADS / 32; other++) {
      if (other < warp) place += of_warp[other];
      before += of_warp[other];
    }
    if (keep) to[place] = value;
    __syncthreads();
  }
  if (threadIdx.x == 0) kept[s] = before;
}

// For every section s, from out[section.start(s)] on: value, for every i below section.items(s) that
// section.keep(s, i, value) keeps, ascending; how many to kept[s].
template <class F>
void compact_sections(Queue& queue, uint64_t sections, F section, uint32_t* out, uint32_t* kept) {
  if (sections == 0) return;
  run_compact_sections<<<static_cast<uint32_t>(sections), BLOCK_THREADS, 0, queue.stream()>>>(section, out, kept);
  check(cudaGetLastError(), "starting a kernel");
}

// What a block has in fast memory while it finds the best keys.
struct BestKeys {
  uint64_t keys[KEYS_AT_HAND];
  uint64_t limit;
  uint32_t count;

  // Sorts the keys at hand and leaves all but the best `k` out. Called by all threads of the block.
  __device__ void leave_out(uint32_t k) {
    uint32_t have = count, size = 1;
    while (size < have) size *= 2;
    for (uint32_t i = have + threadIdx.x; i < size; i += BLOCK_THREADS) keys[i] = NO_KEY;
    __syncthreads();
    for (uint32_t width = 2; width <= size; width *= 2) {
      for (uint32_t step = width / 2; step > 0; step /= 2) {
        for (uint32_t i = threadIdx.x; i < size / 2; i += BLOCK_THREADS) {
          uint32_t low = 2 * i - (i & (step - 1)), high = low + step;
          bool ascends = (low & width) == 0;
          uint64_t a = keys[low], b = keys[high];
          if ((a > b) == ascends) {
            keys[low] = b;
            keys[high] = a;
          }
        }
        __syncthreads();
      }
    }
    if (threadIdx.x == 0 && have >= k) {
      count = k;
      limit = keys[k - 1];
    }
    __syncthreads();
  }
};

template <class F>
__global__ void __launch_bounds__(BLOCK_THREADS)
    run_best_keys(const __grid_constant__ F function, uint32_t k, uint64_t* out, uint32_t* kept) {
  constexpr uint32_t STEP = KEYS_AT_HAND - MOST_KEYS;
  __shared__ BestKeys best;
  uint64_t s = blockIdx.x;
  auto section = function.section(s);
  if (threadIdx.x == 0) {
    best.count = 0;
    best.limit = section.limit();
  }
  __syncthreads();
  uint32_t items = section.items(best.limit);
  for (uint32_t base = 0; base < items; base += STEP) {
    uint32_t end = items - base < STEP ? items : base + STEP;
    uint64_t limit = best.limit;
    for (uint32_t i = base + threadIdx.x; i < end; i += BLOCK_THREADS) {
      uint64_t key = section.key(i, limit);
      if (key < limit) best.keys[atomicAdd(&best.count, 1)] = key;
    }
    __syncthreads();
    bool is_full = best.count > KEYS_AT_HAND - STEP;
    // None goes on to add before all have seen this.
    __syncthreads();
    if (is_full) best.leave_out(k);
  }
  best.leave_out(k);
  for (uint32_t i = threadIdx.x; i < best.count; i += BLOCK_THREADS) out[s * k + i] = best.keys[i];
  if (threadIdx.x == 0) {
    kept[s] = best.count;
    if (best.count == k) section.found(best.limit);
  }
}

// For every section, the least `k` of the keys section.key(i, limit), for all i below section.items(limit), that
// are less than section.limit(), where section = function.section(s): ascending, from out[s * k] on; how many to
// kept[s]. `limit` is one that a key must be less than to count; no key need be told that is not. No two keys
// of a section are equal, but for NO_KEY. Where there are k keys, section.found(the last) is told of it.
template <class F>
void best_keys(Queue& queue, uint64_t sections, F function, uint32_t k, uint64_t* out, uint32_t* kept) {
  if (sections == 0) return;
  run_best_keys<<<static_cast<uint32_t>(sections), BLOCK_THREADS, 0, queue.stream()>>>(function, k, out, kept);
  check(cudaGetLastError(), "starting a kernel");
}

#else  // the host build

template <class F>
void mark(Queue&, uint64_t count, F holds, uint32_t* words) {
  for (uint64_t i = 0; i < count; i++) {
    if (i % 32 == 0) words[i / 32] = 0;
    words[i / 32] |= uint32_t(holds(i)) << i % 32;
  }
}

template <class F>
void compact_sections(Queue&, uint64_t sections, F section, uint32_t* out, uint32_t* kept) {
  for (uint64_t s = 0; s < sections; s++) {
    uint32_t* to = out + section.start(s);
    uint32_t count = section.items(s), value = 0;
    kept[s] = 0;
    for (uint32_t i = 0; i < count; i++) {
      if (section.keep(s, i, value)) to[kept[s]++] = value;
    }
  }
}

template <class F>
void best_keys(Queue&, uint64_t sections, F function, uint32_t k, uint64_t* out, uint32_t* kept) {
  std::vector<uint64_t> keys;
  for (uint64_t s = 0; s < sections; s++) {
    auto section = function.section(s);
    uint64_t limit = section.limit();
    keys.clear();
    uint32_t items = section.items(limit);
    for (uint32_t i = 0; i < items; i++) {
      uint64_t key = section.key(i, limit);
      if (key < limit) keys.push_back(key);
    }
    std::sort(keys.begin(), keys.end());
    // Keys may have come from where they go.
    kept[s] = static_cast<uint32_t>(std::min<uint64_t>(k, keys.size()));
    std::copy(keys.begin(), keys.begin() + kept[s], out + s * k);
    if (kept[s] == k) section.found(keys[k - 1]);
  }
}

#endif

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
