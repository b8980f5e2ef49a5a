// What differs between the two builds of these sources: on a GPU by nvcc, and on the host by any
// C++17 compiler, where a queue runs everything at once and device memory is the heap.
//
// Both builds may stand in one program, so each lives in a namespace of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "boundary.h"

#ifdef __CUDACC__
#include <cuda_runtime.h>
#define TOKAPI_BACKEND cuda
#define TOKAPI_FN __host__ __device__ __forceinline__
#define TOKAPI_LAMBDA __device__
#define TOKAPI_UNROLL _Pragma("unroll")
#else
#define TOKAPI_BACKEND host
#define TOKAPI_FN inline
#define TOKAPI_LAMBDA
#define TOKAPI_UNROLL
#endif

namespace tokapi {
namespace TOKAPI_BACKEND {

// An error on its way to the boundary, where it becomes a status and a text.
struct Failure : std::runtime_error {
  tokapi_status status;
  Failure(tokapi_status status, const std::string& what) : std::runtime_error(what), status(status) {}
};

#ifdef __CUDACC__

inline void check(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return;
  tokapi_status status = TOKAPI_DEVICE_FAILED;
  if (error == cudaErrorMemoryAllocation) status = TOKAPI_OUT_OF_MEMORY;
  if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver) status = TOKAPI_NO_DEVICE;
  cudaGetLastError();  // an error that can be recovered from must not surface again later
  throw Failure(status, std::string(doing) + ": " + cudaGetErrorString(error));
}

// Which device the calls of this thread are for; every thread has its own.
inline void use_device(uint32_t device) {
  check(cudaSetDevice(static_cast<int>(device)), "choosing a device");
}

// Device memory that is free, with what the pool holds and nobody uses.
inline uint64_t free_memory(uint32_t device) {
  use_device(device);
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free device memory");
  cudaMemPool_t pool;
  uint64_t reserved = 0, used = 0;
  check(cudaDeviceGetDefaultMemPool(&pool, static_cast<int>(device)), "asking for the memory pool");
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved), "asking the memory pool");
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), "asking the memory pool");
  return free + (reserved - used);
}

// A stream: what is put into it runs in order, beside other queues.
class Queue {
 public:
  Queue() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream"); }
  ~Queue() {
    if (scratch_) cudaFreeAsync(scratch_, stream_);
    cudaStreamDestroy(stream_);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  cudaStream_t stream() const { return stream_; }
  void wait() { check(cudaStreamSynchronize(stream_), "waiting for the device"); }
  // Temporary memory for one primitive; it only grows.
  void* scratch(size_t bytes) {
    if (bytes > scratch_bytes_) {
      if (scratch_) check(cudaFreeAsync(scratch_, stream_), "freeing device memory");
      scratch_ = nullptr;
      scratch_bytes_ = 0;
      uint64_t wanted = bytes + bytes / 8;
      check(cudaMallocAsync(&scratch_, wanted, stream_), "allocating device memory");
      scratch_bytes_ = wanted;
    }
    return scratch_;
  }
  void free_scratch() {
    if (scratch_) check(cudaFreeAsync(scratch_, stream_), "freeing device memory");
    scratch_ = nullptr;
    scratch_bytes_ = 0;
    wait();
  }

 private:
  cudaStream_t stream_ = nullptr;
  void* scratch_ = nullptr;
  size_t scratch_bytes_ = 0;
};

// A mark in a queue that another queue, or the host, waits for.
class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "creating an event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(Queue& queue) { check(cudaEventRecord(event_, queue.stream()), "recording an event"); }
  void before(Queue& queue) { check(cudaStreamWaitEvent(queue.stream(), event_, 0), "ordering streams"); }
  void wait() { check(cudaEventSynchronize(event_), "waiting for the device"); }

 private:
  cudaEvent_t event_ = nullptr;
};

inline void* device_allocate(size_t bytes) {
  void* memory = nullptr;
  cudaError_t error = cudaMallocAsync(&memory, bytes, nullptr);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    throw Failure(TOKAPI_OUT_OF_MEMORY, "the device has no room for " + std::to_string(bytes) +
                                            " bytes more: " + std::to_string(free) + " of " +
                                            std::to_string(total) + " are free");
  }
  check(error, "allocating device memory");
  // Other streams use it at once.
  check(cudaStreamSynchronize(nullptr), "allocating device memory");
  return memory;
}
inline void device_free(void* memory) {
  // Whatever still uses it comes first.
  cudaDeviceSynchronize();
  cudaFreeAsync(memory, nullptr);
}
inline void* pinned_allocate(size_t bytes) {
  void* memory = nullptr;
  cudaError_t error = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw Failure(TOKAPI_OUT_OF_MEMORY, "the host has no room for " + std::to_string(bytes) + " bytes of pinned memory");
  }
  check(error, "allocating pinned memory");
  return memory;
}
inline void pinned_free(void* memory) { cudaFreeHost(memory); }

inline void upload(Queue& queue, void* to, const void* from, size_t bytes) {
  if (bytes) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, queue.stream()), "uploading");
}
inline void download(Queue& queue, void* to, const void* from, size_t bytes) {
  if (bytes) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, queue.stream()), "downloading");
}
inline void copy(Queue& queue, void* to, const void* from, size_t bytes) {
  if (bytes) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, queue.stream()), "copying");
}
inline void fill(Queue& queue, void* to, uint8_t byte, size_t bytes) {
  if (bytes) check(cudaMemsetAsync(to, byte, bytes, queue.stream()), "filling device memory");
}

#else  // the host build

inline void use_device(uint32_t) {}

// No limit is known.
inline uint64_t free_memory(uint32_t) { return ~uint64_t(0); }

class Queue {
 public:
  void wait() {}
  void free_scratch() {}
};
class Event {
 public:
  void record(Queue&) {}
  void before(Queue&) {}
  void wait() {}
};
inline void* device_allocate(size_t bytes) {
  void* memory = std::malloc(bytes);
  if (!memory) throw Failure(TOKAPI_OUT_OF_MEMORY, "no room for " + std::to_string(bytes) + " bytes more");
  return memory;
}
inline void device_free(void* memory) { std::free(memory); }
inline void* pinned_allocate(size_t bytes) { return device_allocate(bytes); }
inline void pinned_free(void* memory) { std::free(memory); }
inline void upload(Queue&, void* to, const void* from, size_t bytes) { if (bytes) std::memcpy(to, from, bytes); }
inline void download(Queue&, void* to, const void* from, size_t bytes) { if (bytes) std::memcpy(to, from, bytes); }
inline void copy(Queue&, void* to, const void* from, size_t bytes) { if (bytes) std::memcpy(to, from, bytes); }
inline void fill(Queue&, void* to, uint8_t byte, size_t bytes) { if (bytes) std::memset(to, byte, bytes); }

#endif

// Memory that only grows, so that nothing is allocated once the largest chunk has been seen: by so many
// eighths more than it must.
template <class T, void* (*allocate)(size_t), void (*release)(void*), uint64_t eighths>
class Growing {
 public:
  Growing() = default;
  ~Growing() {
    if (data_) release(data_);
  }
  Growing(Growing&& other) noexcept : data_(other.data_), capacity_(other.capacity_) {
    other.data_ = nullptr;
    other.capacity_ = 0;
  }
  Growing& operator=(Growing&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }

  // Makes room for `count` elements; what was there is lost if it has to grow.
  T* reserve(uint64_t count) {
    if (count > capacity_) {
      if (data_) release(data_);
      data_ = nullptr;
      capacity_ = 0;
      uint64_t wanted = count + count / 8 * eighths + 64;
      data_ = static_cast<T*>(allocate(wanted * sizeof(T)));
      capacity_ = wanted;
    }
    return data_;
  }
  T* data() const { return data_; }
  uint64_t capacity() const { return capacity_; }

 private:
  T* data_ = nullptr;
  uint64_t capacity_ = 0;
};

template <class T>
using Buffer = Growing<T, device_allocate, device_free, 1>;
// What is made as large as it stays.
template <class T>
using Whole = Growing<T, device_allocate, device_free, 0>;
// Pinning takes long.
template <class T>
using Pinned = Growing<T, pinned_allocate, pinned_free, 8>;

// Bits and bytes that both processors have, under one name.
TOKAPI_FN uint32_t count_ones(uint64_t word) {
#ifdef __CUDA_ARCH__
  return __popcll(word);
#else
  return static_cast<uint32_t>(__builtin_popcountll(word));
#endif
}
// The place of the lowest one; `word` is not 0.
TOKAPI_FN uint32_t lowest_one(uint64_t word) {
#ifdef __CUDA_ARCH__
  return __ffsll(static_cast<long long>(word)) - 1;
#else
  return static_cast<uint32_t>(__builtin_ctzll(word));
#endif
}
TOKAPI_FN uint64_t multiply_high(uint64_t a, uint64_t b) {
#ifdef __CUDA_ARCH__
  return __umul64hi(a, b);
#else
  return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
#endif
}
TOKAPI_FN uint64_t swap_bytes(uint64_t word) {
#ifdef __CUDA_ARCH__
  uint32_t low = static_cast<uint32_t>(word), high = static_cast<uint32_t>(word >> 32);
  return (static_cast<uint64_t>(__byte_perm(low, 0, 0x0123)) << 32) | __byte_perm(high, 0, 0x0123);
#else
  return __builtin_bswap64(word);
#endif
}
// The 8 bytes from `at` on, wherever it points; up to 8 bytes after them are read too.
TOKAPI_FN uint64_t load_8(const uint8_t* at) {
#ifdef __CUDA_ARCH__
  uintptr_t address = reinterpret_cast<uintptr_t>(at);
  const uint64_t* words = reinterpret_cast<const uint64_t*>(address & ~uintptr_t(7));
  uint32_t shift = static_cast<uint32_t>(address & 7) * 8;
  uint64_t low = words[0], high = words[1];
  return shift ? (low >> shift) | (high << (64 - shift)) : low;
#else
  uint64_t word;
  std::memcpy(&word, at, 8);
  return word;
#endif
}

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
