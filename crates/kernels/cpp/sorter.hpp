// Sorts records in host memory on one device, in place and stably.
//
// Keys go up in pieces, each half as large as the one before. A piece is sorted and merged with those
// before it while the next comes up, so that after the last and smallest only its own sorting and
// one merge remain. The bitonic network takes all records at once, and pairs are one piece, too: CUB's
// merge promises no order of equal keys.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "records.hpp"
#include "stopwatch.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

// Pieces at most: a half and so on to a sixteenth, and the other sixteenth. With 4 GB that takes
// 4.5 ms to come up, in which an H200 should sort the piece before it and merge 4 GB.
constexpr uint64_t MOST_PIECES = 5;

// Pinned memory that other memory is copied through.
constexpr uint64_t STAGES = 4;
constexpr uint64_t MOST_STAGE_BYTES = uint64_t(16) << 20;

class Sorter {
 public:
  struct Stage {
    Pinned<uint8_t> bytes;
    Event done;
  };

  explicit Sorter(const tokapi_sorter_options& options)
      : options_(options), stage_bytes_(std::min(options.piece_bytes, MOST_STAGE_BYTES)),
        stopwatch_(options.timed != 0) {
    if (stage_bytes_ == 0) throw Failure(TOKAPI_DEVICE_FAILED, "pieces have no bytes");
    options_.memory_bytes = std::min(options.memory_bytes, free_memory(options.device));
  }

  ~Sorter() { wait_for_all(); }

  // Waits until nothing is under way any more, whatever became of it.
  void wait_for_all() noexcept {
    for (Queue* queue : {&up_, &work_, &down_}) {
      try {
        queue->wait();
      } catch (const Failure&) {
        // Told by the call that comes next.
      }
    }
  }

  void sort(const tokapi_sorting& sorting) {
    switch (sorting.record) {
      case TOKAPI_KEYS32: return sort_records<Keys32>(sorting);
      case TOKAPI_KEYS64: return sort_records<Keys64>(sorting);
      case TOKAPI_PAIRS32: return sort_records<Pairs32>(sorting);
      case TOKAPI_PAIRS64: return sort_records<Pairs64>(sorting);
      default: throw Failure(TOKAPI_DEVICE_FAILED, "there are no such records");
    }
  }

  // The most records for which `memory_bytes` are enough.
  uint64_t most_records(uint32_t record, uint32_t algorithm) const {
    // Memory is so much in any case, and so much more for every 64 records.
    constexpr uint64_t STEP = 64;
    uint64_t fixed = peak_bytes(0, record, algorithm);
    if (options_.memory_bytes <= fixed) return 0;
    uint64_t more = peak_bytes(STEP, record, algorithm) - fixed;
    uint64_t most = (options_.memory_bytes - fixed) / more * STEP;
    // Places are sorted with 32-bit keys, in 32 bits.
    bool placed = algorithm == TOKAPI_BITONIC && record == TOKAPI_PAIRS32;
    return placed ? std::min(most, uint64_t(1) << 32) : most;
  }

  // Device memory that sorting takes at most.
  static uint64_t peak_bytes(uint64_t count, uint32_t record, uint32_t algorithm) {
    uint64_t bytes = count * record_bytes(record);
    uint64_t buffers = is_twice(record, algorithm) ? 2 * bytes : bytes;
    // One piece, and temporary memory for it; or all twice in pieces, and temporary memory for the
    // largest, a half.
    if (algorithm == TOKAPI_MERGE) buffers += are_pairs(record) ? bytes : bytes + bytes / 2;
    // What grows takes an eighth more than it must; primitives have their own.
    return buffers + buffers / 8 + bytes / 16 + (uint64_t(64) << 20);
  }

  tokapi_sort_times times() const { return times_; }
  uint32_t device() const { return options_.device; }

  // The steps of the above. Public because functions with kernels in them must be.

  static uint64_t record_bytes(uint32_t record) {
    return record == TOKAPI_KEYS32 ? 4 : record == TOKAPI_PAIRS64 ? 16 : 8;
  }

  static bool are_pairs(uint32_t record) { return record == TOKAPI_PAIRS32 || record == TOKAPI_PAIRS64; }

  // Whether records are on the device twice, even in one piece.
  static bool is_twice(uint32_t record, uint32_t algorithm) {
    return algorithm == TOKAPI_RADIX || (algorithm == TOKAPI_BITONIC && are_pairs(record));
  }

  template <class Kind>
  void sort_records(const tokapi_sorting& sorting) {
    using Item = typename Kind::Item;
    begin(sorting);
    if (sorting.count == 0) return;
    uint64_t bytes = sorting.count * sizeof(Item);
    auto* here = static_cast<uint8_t*>(sorting.records);
    auto* items = reinterpret_cast<Item*>(records_.reserve(bytes));
    std::vector<uint64_t> ends = piece_ends(sorting.count, sizeof(Item));
    bool twice = ends.size() > 1 || is_twice(sorting.record, sorting.algorithm);
    auto* others = twice ? reinterpret_cast<Item*>(others_.reserve(bytes)) : nullptr;
    Item* sorted = items;
    uint64_t from = 0;
    for (uint64_t piece = 0; piece < ends.size(); piece++) {
      uint64_t count = ends[piece] - from;
      bring_up(sorting.pinned, items + from, here + from * sizeof(Item), count * sizeof(Item));
      uploaded_[piece].record(up_);
      stopwatch_.add(up_, times_.upload);
      uploaded_[piece].before(work_);
      Item* piece_sorted = sort_piece(Kind{}, items + from, twice ? others + from : nullptr, count);
      stopwatch_.add(work_, times_.sort);
      sorted = from ? merge_piece<Kind>(items, others, sorted, from, piece_sorted, count) : piece_sorted;
      stopwatch_.add(work_, times_.merge);
      from = ends[piece];
    }
    sorted_.record(work_);
    sorted_.before(down_);
    bring_down(sorting.pinned, here, sorted, bytes);
    stopwatch_.add(down_, times_.download);
  }

  void begin(const tokapi_sorting& sorting) {
    if (options_.fail_after && ++calls_ >= options_.fail_after) {
      throw Failure(TOKAPI_DEVICE_FAILED, "the device was lost (as the test asked)");
    }
    uint64_t most = most_records(sorting.record, sorting.algorithm);
    if (sorting.count > most) {
      throw Failure(TOKAPI_TOO_LARGE,
                    std::to_string(sorting.count) + " records of " + std::to_string(record_bytes(sorting.record)) +
                        " bytes at once; for at most " + std::to_string(most) + " there is enough device memory");
    }
    // Each algorithm divides the memory in another way, for keys and for pairs.
    if (sorting.algorithm != algorithm_ || sorting.record != record_) {
      records_ = Buffer<uint8_t>();
      others_ = Buffer<uint8_t>();
      work_.free_scratch();
    }
    algorithm_ = sorting.algorithm;
    record_ = sorting.record;
    times_ = tokapi_sort_times{};
    stopwatch_.start();
  }

  std::vector<uint64_t> piece_ends(uint64_t count, uint64_t item_bytes) const {
    std::vector<uint64_t> ends;
    uint64_t from = 0;
    if (algorithm_ != TOKAPI_BITONIC && !are_pairs(record_)) {
      while (ends.size() + 1 < MOST_PIECES) {
        uint64_t half = (count - from) / 2;
        if (half == 0 || half * item_bytes < options_.piece_bytes) break;
        from += half;
        ends.push_back(from);
      }
    }
    ends.push_back(count);
    return ends;
  }

  // Sorts a piece on its own; the result lies in one of the two.
  template <class Kind, class Item>
  Item* sort_piece(Kind kind, Item* items, Item* others, uint64_t count) {
    switch (algorithm_) {
      case TOKAPI_RADIX: return by_radix(kind, work_, items, others, count);
      case TOKAPI_MERGE: merge_sort(work_, items, count, ByKey<Kind>{}); return items;
      case TOKAPI_BITONIC: return by_bitonic(kind, work_, items, others, count);
      default: throw Failure(TOKAPI_DEVICE_FAILED, "there is no such algorithm");
    }
  }

  // Merges a sorted piece with the `before` records before it, sorted too, and gives where they lie
  // now: in the other of the two buffers.
  template <class Kind, class Item>
  Item* merge_piece(Item* items, Item* others, const Item* sorted, uint64_t before, const Item* piece,
                    uint64_t count) {
    bool in_items = sorted == items;
    Item* from = in_items ? items : others;
    Item* to = in_items ? others : items;
    // The piece must not lie where the result goes.
    if (piece != from + before) copy(work_, from + before, piece, count * sizeof(Item));
    merge(work_, from, before, from + before, count, to, ByKey<Kind>{});
    return to;
  }

  void bring_up(bool pinned, void* there, const void* here, uint64_t bytes) {
    if (pinned) return upload(up_, there, here, bytes);
    for (uint64_t at = 0; at < bytes; at += stage_bytes_, stage_++) {
      Stage& stage = stages_[stage_ % STAGES];
      uint64_t part = std::min(stage_bytes_, bytes - at);
      stage.bytes.reserve(stage_bytes_);
      stage.done.wait();
      std::memcpy(stage.bytes.data(), static_cast<const uint8_t*>(here) + at, part);
      upload(up_, static_cast<uint8_t*>(there) + at, stage.bytes.data(), part);
      stage.done.record(up_);
    }
  }

  // Returns when all is there.
  void bring_down(bool pinned, uint8_t* here, const void* there, uint64_t bytes) {
    if (pinned) {
      download(down_, here, there, bytes);
      return down_.wait();
    }
    uint64_t parts = (bytes + stage_bytes_ - 1) / stage_bytes_;
    auto part_bytes = [&](uint64_t part) { return std::min(stage_bytes_, bytes - part * stage_bytes_); };
    for (uint64_t part = 0; part < parts + STAGES; part++) {
      Stage& stage = stages_[part % STAGES];
      if (part >= STAGES && part - STAGES < parts) {
        uint64_t arrived = part - STAGES;
        stage.done.wait();
        std::memcpy(here + arrived * stage_bytes_, stage.bytes.data(), part_bytes(arrived));
      }
      if (part < parts) {
        uint8_t* to = stage.bytes.reserve(stage_bytes_);
        download(down_, to, static_cast<const uint8_t*>(there) + part * stage_bytes_, part_bytes(part));
        stage.done.record(down_);
      }
    }
  }

 private:
  tokapi_sorter_options options_;
  uint64_t stage_bytes_;
  Queue up_, work_, down_;
  Event uploaded_[MOST_PIECES], sorted_;
  Buffer<uint8_t> records_, others_;
  Stage stages_[STAGES];
  uint64_t stage_ = 0, calls_ = 0;
  uint32_t algorithm_ = TOKAPI_RADIX, record_ = TOKAPI_KEYS32;
  tokapi_sort_times times_{};
  Stopwatch stopwatch_;
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
