// Maps and reduces chunks of records, one at a time, by the functions that are asked for.
#pragma once

#include <string>

#include "functors.hpp"
#include "stopwatch.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

class Mapper {
 public:
  explicit Mapper(const tokapi_mapper_options& options) : options_(options), stopwatch_(options.timed != 0) {}
  ~Mapper() { wait_for_all(); }

  // Waits until nothing is under way any more, whatever became of it.
  void wait_for_all() noexcept {
    try {
      queue_.wait();
    } catch (const Failure&) {
      // Told by the call that comes next.
    }
  }

  void run(const tokapi_records& given, tokapi_groups& groups) {
    begin();
    Records records = bring_up(given);
    stopwatch_.add(queue_, times_.upload);
    switch (given.map) {
      case TOKAPI_MAP_TERMS: map(MapTerms<Blanks>{Blanks{records.bytes}}, TEXT, records, 0); break;
      case TOKAPI_MAP_WHOLE: map(MapWhole{}, TEXT, records, 0); break;
      case TOKAPI_MAP_LENGTHS: map(MapLengths{}, WORDS, records, 0); break;
      case TOKAPI_MAP_COOCCURRENCES: map(MapCooccurrences{}, TEXT_WITH_TEXT, records, 0); break;
      case TOKAPI_MAP_EDGES: map(MapEdges{}, TEXT_WITH_TEXT, records, 0); break;
      case TOKAPI_MAP_FIRST_FIELD: map(MapFirstField{}, TEXT, records, 0); break;
      case TOKAPI_MAP_POSTINGS: map(MapPostings{}, TEXT, records, 1); break;
      case TOKAPI_MAP_BANDS: map(MapBands{}, BANDS, records, MapBands::HASHES / 2); break;
      case TOKAPI_MAP_RANKS: map(MapRanks{}, WORDS, records, 0); break;
      case TOKAPI_MAP_WORDS: map(MapWords{}, WORDS, records, 0); break;
      default: throw Failure(TOKAPI_DEVICE_FAILED, "there is no such map function");
    }
    mars_.sort(queue_, kind_, records.bytes, given.sort);
    stopwatch_.add(queue_, times_.sort);
    uint64_t group_count = mars_.group(queue_);
    stopwatch_.add(queue_, times_.group);
    uint64_t values = reduce(given.reduce);
    stopwatch_.add(queue_, times_.reduce);
    bring_down(group_count, values, records.count);
    stopwatch_.add(queue_, times_.download);
    groups = tokapi_groups{pairs_,
                           group_count,
                           values,
                           keys_here_.data(),
                           value_starts_here_.data(),
                           values_here_.data(),
                           notes_here_.data(),
                           note_words_,
                           left_here_.data(),
                           mars_.left_count()};
  }

  tokapi_mapper_times times() const { return times_; }
  uint32_t device() const { return options_.device; }

  // The steps of the above. Public because functions with kernels in them must be.

  static constexpr PairKind WORDS{false, false, false, 0};
  static constexpr PairKind TEXT{true, false, false, 0};
  static constexpr PairKind TEXT_WITH_TEXT{true, true, true, 0};
  static constexpr PairKind BANDS{false, false, true, uint64_t(0xFFFFFFFF) << 32};

  void begin() {
    if (options_.fail_after && ++calls_ >= options_.fail_after) {
      throw Failure(TOKAPI_DEVICE_FAILED, "the device was lost (as the test asked)");
    }
    times_ = tokapi_mapper_times{};
    stopwatch_.start();
  }

  Records bring_up(const tokapi_records& given) {
    uint8_t* bytes = bytes_.reserve(given.length + PADDING);
    uint32_t* starts = starts_.reserve(given.count + 1);
    upload(queue_, bytes, given.bytes, given.length);
    fill(queue_, bytes + given.length, ' ', PADDING);
    upload(queue_, starts, given.starts, (given.count + 1) * sizeof(uint32_t));
    return Records{bytes, starts, given.count, given.starts[0], given.starts[given.count]};
  }

  template <class Map>
  void map(const Map& map, const PairKind& kind, const Records& records, uint32_t note_words) {
    kind_ = kind;
    note_words_ = note_words;
    pairs_ = mars_.count(queue_, map, records);
    stopwatch_.add(queue_, times_.count);
    if (pairs_ >= ~uint32_t(0) || Mars::pair_bytes(pairs_) > options_.memory_bytes) {
      throw Failure(TOKAPI_TOO_LARGE, std::to_string(pairs_) + " pairs of " + std::to_string(records.count) +
                                          " records at once");
    }
    mars_.emit(queue_, map, records, note_words);
    stopwatch_.add(queue_, times_.emit);
  }

  uint64_t reduce(uint32_t how) {
    switch (how) {
      case TOKAPI_REDUCE_NOTHING: return mars_.reduce(queue_, ReduceNothing{});
      case TOKAPI_REDUCE_COUNT: return mars_.reduce(queue_, ReduceCount{});
      case TOKAPI_REDUCE_SUM: return mars_.reduce(queue_, ReduceSum{});
      case TOKAPI_REDUCE_RUNS: return mars_.reduce(queue_, ReduceRuns{});
      case TOKAPI_REDUCE_FIRST: return mars_.reduce(queue_, ReduceFirst{});
      default: throw Failure(TOKAPI_DEVICE_FAILED, "there is no such reduce function");
    }
  }

  // Of every key its words, or its slice after the first 8 bytes.
  void bring_down(uint64_t groups, uint64_t values, uint64_t records) {
    uint64_t* keys = keys_.reserve(2 * groups);
    const Emitted* pairs = mars_.pairs();
    const uint32_t* starts = mars_.group_starts();
    for_each(queue_, groups, [=] TOKAPI_LAMBDA(uint64_t g) {
      keys[2 * g] = pairs[starts[g]].key;
      keys[2 * g + 1] = pairs[starts[g]].rest;
    });
    auto send = [&](auto& here, const auto* there, uint64_t count) {
      download(queue_, here.reserve(count), there, count * sizeof *there);
    };
    send(keys_here_, static_cast<const uint64_t*>(keys), 2 * groups);
    send(value_starts_here_, mars_.value_starts(), groups + 1);
    send(values_here_, mars_.values(), values);
    send(notes_here_, mars_.notes(), records * note_words_);
    send(left_here_, mars_.left(), mars_.left_count());
    queue_.wait();
  }

 private:
  tokapi_mapper_options options_;
  Queue queue_;
  Mars mars_;
  PairKind kind_{};
  uint32_t note_words_ = 0;
  uint64_t pairs_ = 0, calls_ = 0;
  Buffer<uint8_t> bytes_;
  Buffer<uint32_t> starts_;
  Buffer<uint64_t> keys_;
  Pinned<uint64_t> keys_here_, values_here_, notes_here_;
  Pinned<uint32_t> value_starts_here_, left_here_;
  tokapi_mapper_times times_{};
  Stopwatch stopwatch_;
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
