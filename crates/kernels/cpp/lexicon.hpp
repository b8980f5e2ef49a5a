// Which integer is a term: a hash table in device memory that all chunks share.
//
// A term of up to 16 bytes stands in its slot, so that one 32-byte access finds and compares it; of
// a longer one the slot has the first 8 bytes, and the whole stands in an arena. Terms are always
// compared as strings: hashes that collide cost time, nothing else. Ids are dense, in no
// particular order.
#pragma once

#include "slices.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

constexpr uint32_t NO_ID = ~uint32_t(0);

// Terms up to this long stand in their slots.
constexpr uint32_t INLINE_BYTES = 16;

// The first 16 bytes of a term, zeros after its end, and its hash.
struct Key {
  const uint8_t* bytes;
  uint32_t length;
  uint64_t low, high, hash;
};

// The 128-bit product of both, folded.
TOKAPI_FN uint64_t mix(uint64_t a, uint64_t b) { return (a * b) ^ multiply_high(a, b); }

TOKAPI_FN Key key_of(const uint8_t* bytes, uint32_t length, uint64_t hash_mask) {
  Key key{bytes, length, first_bytes(load_8(bytes), length), 0, 0};
  if (length > 8) key.high = first_bytes(load_8(bytes + 8), length - 8);
  // Odd constants of well mixed bits: the fractions of the square roots of 2, 3 and 5.
  uint64_t hash = mix(key.low ^ 0x6A09E667F3BCC909, key.high ^ (0xBB67AE8584CAA73B + length));
  for (uint32_t at = INLINE_BYTES; at < length; at += 8) {
    hash = mix(hash ^ 0x3C6EF372FE94F82B, first_bytes(load_8(bytes + at), length - at) ^ 0xBB67AE8584CAA73B);
  }
  hash = mix(hash, 0x9E3779B97F4A7C15) & hash_mask;
  // 0 marks an empty slot.
  key.hash = hash ? hash : 1;
  return key;
}

// All zeros while empty. The hash is set first, by whoever takes the slot, and never changes; the id
// is set last, when the rest can be read: one more than the id, so that it is never 0. The bytes are
// kept inverted, and so is a place in the arena: none is all ones, so that what is not written yet,
// or was cached before, never looks like a term.
struct alignas(32) Slot {
  uint64_t hash;
  uint32_t id_after;
  uint32_t length;
  uint64_t low;
  // Of a longer term: the word at which it begins in the arena, inverted too.
  uint64_t high;
};

// Counters that kernels and host share.
struct Counters {
  unsigned long long arena_top;
  uint32_t terms;
  uint32_t full;
};

// The table as kernels see it.
struct Table {
  Slot* slots;
  uint64_t mask;
  uint32_t limit;
  uint32_t* slot_of;
  // Longer terms, each from a whole word on, zeros after its end.
  uint64_t* arena;
  uint64_t arena_words;
  Counters* counters;

#ifdef __CUDA_ARCH__
  // What may have been cached, when others had not written it yet.
  static __device__ __forceinline__ Slot read_cached(const Slot* slot) {
    const ulonglong2* halves = reinterpret_cast<const ulonglong2*>(slot);
    ulonglong2 head = halves[0], bytes = halves[1];
    return Slot{head.x, static_cast<uint32_t>(head.y), static_cast<uint32_t>(head.y >> 32), bytes.x, bytes.y};
  }
  // Past the first-level cache, which does not see what other processors write.
  static __device__ __forceinline__ Slot read(const Slot* slot) {
    const volatile Slot* at = slot;
    Slot read;
    read.hash = at->hash;
    read.id_after = at->id_after;
    read.length = at->length;
    read.low = at->low;
    read.high = at->high;
    return read;
  }
  // Waits for the slot's owner; all that it wrote can be read then.
  static __device__ __forceinline__ void wait_until_written(const Slot* slot) {
    uint32_t id_after;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(id_after) : "l"(&slot->id_after) : "memory");
    } while (id_after == 0);
  }
  static __device__ __forceinline__ uint64_t take(Slot* slot, uint64_t hash) {
    return atomicCAS(reinterpret_cast<unsigned long long*>(&slot->hash), 0ull, static_cast<unsigned long long>(hash));
  }
  // Writes so that who reads it can read all that this thread wrote before.
  static __device__ __forceinline__ void release(uint32_t* to, uint32_t value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
  }
  static __device__ __forceinline__ void release(uint64_t* to, uint64_t value) {
    asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
  }
  template <class T, class U>
  static __device__ __forceinline__ T add(T* to, U value) {
    return atomicAdd(to, static_cast<T>(value));
  }
#else
  static Slot read_cached(const Slot* slot) { return *slot; }
  static Slot read(const Slot* slot) { return *slot; }
  static void wait_until_written(const Slot*) {}
  static uint64_t take(Slot* slot, uint64_t hash) {
    uint64_t was = slot->hash;
    if (was == 0) slot->hash = hash;
    return was;
  }
  template <class T>
  static void release(T* to, T value) {
    *to = value;
  }
  template <class T, class U>
  static T add(T* to, U value) {
    T was = *to;
    *to += static_cast<T>(value);
    return was;
  }
#endif

  // Whether a slot is known to hold a term: no, if it does not, or is not written yet.
  TOKAPI_FN bool holds(const Slot& slot, const Key& key) const {
    if (slot.hash != key.hash || slot.id_after == 0 || slot.length != key.length || slot.low != ~key.low) return false;
    if (key.length <= INLINE_BYTES) return slot.high == ~key.high;
    if (slot.high == 0) return false;
    // The place was written after the term there, and the term is read by that place.
    const volatile uint64_t* words = arena + ~slot.high;
    for (uint32_t at = 8; at < key.length; at += 8) {
      if (words[at / 8] != first_bytes(load_8(key.bytes + at), key.length - at)) return false;
    }
    return true;
  }

  // Where the search for a hash begins.
  TOKAPI_FN uint64_t home(uint64_t hash) const { return (hash ^ hash >> 32) & mask; }

  // The id of a term, which is added if it is new; NO_ID if there is no room for it.
  TOKAPI_FN uint32_t id_of(const Key& key) const {
    for (uint64_t s = home(key.hash);; s = (s + 1) & mask) {
      Slot slot = read_cached(slots + s);
      if (slot.hash != 0 && slot.hash != key.hash) continue;
      if (holds(slot, key)) return slot.id_after - 1;
      // Empty, another term of that hash, or written since it was cached: look again.
      slot = read(slots + s);
      if (holds(slot, key)) return slot.id_after - 1;
      if (slot.hash == 0) {
        if (*const_cast<volatile uint32_t*>(&counters->full)) return NO_ID;
        slot.hash = take(slots + s, key.hash);
        if (slot.hash == 0) return write(s, key);
      }
      if (slot.hash != key.hash) continue;
      wait_until_written(slots + s);
      slot = read(slots + s);
      if (holds(slot, key)) return slot.id_after - 1;
    }
  }

  // Fills a slot that this thread has taken. Where there is no more room the slot stands for a
  // term of no length, and the table is made anew before it is used again.
  TOKAPI_FN uint32_t write(uint64_t s, const Key& key) const {
    Slot* slot = slots + s;
    uint32_t id = add(&counters->terms, 1);
    uint32_t words = key.length > INLINE_BYTES ? (key.length + 7) / 8 : 0;
    uint64_t at = words ? add(&counters->arena_top, words) : 0;
    if (id >= limit || at + words > arena_words) {
      counters->full = 1;
      release(&slot->id_after, NO_ID);
      return NO_ID;
    }
    for (uint32_t i = 0; i < words; i++) arena[at + i] = first_bytes(load_8(key.bytes + 8 * i), key.length - 8 * i);
    slot->length = key.length;
    slot->low = ~key.low;
    if (words) {
      // Who reads a place in the arena finds the term there.
      release(&slot->high, ~at);
    } else {
      slot->high = ~key.high;
    }
    slot_of[id] = static_cast<uint32_t>(s);
    release(&slot->id_after, id + 1);
    return id;
  }

  // Word `number` of a term that is in the table, 0 after its end.
  TOKAPI_FN uint64_t word(uint32_t id, uint32_t number) const {
    const Slot& slot = slots[slot_of[id]];
    if (number * 8 >= slot.length) return 0;
    if (slot.length > INLINE_BYTES) return arena[~slot.high + number];
    return ~(number ? slot.high : slot.low);
  }
  TOKAPI_FN uint32_t length(uint32_t id) const { return slots[slot_of[id]].length; }

  // Whether term a comes before term b, by bytes.
  TOKAPI_FN bool before(uint32_t a, uint32_t b) const {
    uint32_t lengths[2] = {length(a), length(b)};
    uint32_t common = lengths[0] < lengths[1] ? lengths[0] : lengths[1];
    for (uint32_t number = 0; number * 8 < common; number++) {
      uint64_t words[2] = {swap_bytes(word(a, number)), swap_bytes(word(b, number))};
      if (words[0] != words[1]) return words[0] < words[1];
    }
    return lengths[0] < lengths[1];
  }
};

// The table's memory, and what is done with all of its terms.
class Lexicon {
 public:
  // Forgets all terms.
  void clear(Queue& queue) {
    if (capacity_ == 0) allocate(FIRST_CAPACITY, FIRST_ARENA_WORDS);
    fill(queue, slots_.data(), 0, capacity_ * sizeof(Slot));
    fill(queue, counters_.reserve(1), 0, sizeof(Counters));
    settled_ = Counters{};
  }

  Table table() const {
    return Table{slots_.data(), capacity_ - 1,  static_cast<uint32_t>(capacity_ / 2), slot_of_.data(),
                 arena_.data(), arena_words_, counters_.data()};
  }

  // Enqueues the question whether the terms of a chunk are in; `settle` has the answer.
  void ask(Queue& queue) { tell(queue, counters_here_.reserve(1), counters_.data(), 1); }

  // Takes note of the terms of a chunk of so many occurrences, after waiting for the queue. If they
  // had no room, gives them more, without those of this chunk, which has to be done again: false.
  bool settle(Queue& queue, uint64_t occurrences) {
    const Counters* here = counters_here_.data();
    if (!here->full) {
      settled_ = *here;
      return true;
    }
    uint64_t capacity = capacity_, words = arena_words_;
    if (here->terms > capacity_ / 2) capacity *= capacity < settled_.terms + occurrences ? 4 : 2;
    if (here->arena_top > arena_words_) words = 4 * (words > here->arena_top ? words : here->arena_top);
    if (capacity > uint64_t(1) << 32) throw Failure(TOKAPI_TOO_LARGE, "the collection has 2^31 or more distinct terms");
    grow(queue, capacity, words);
    return false;
  }

  uint64_t terms() const { return settled_.terms; }

  // The bits that ids have at most, also those not settled yet.
  uint32_t id_bits() const {
    uint32_t bits = 1;
    while (capacity_ / 2 >> bits) bits++;
    return bits;
  }

  // Sorts all terms by their bytes: order()[rank] is an id. By radix on the first 16 bytes; those
  // that agree in these are then sorted by comparing.
  void sort(Queue& queue) {
    uint64_t terms = settled_.terms;
    uint64_t* keys = keys_.reserve(2 * terms + 2);
    uint64_t* sorted = keys + terms;
    uint32_t* order = order_.reserve(2 * terms + 2);
    uint32_t* other = order + terms;
    Table table = this->table();
    for_each(queue, terms, [=] TOKAPI_LAMBDA(uint64_t id) {
      keys[id] = swap_bytes(table.word(id, 1));
      order[id] = static_cast<uint32_t>(id);
    });
    sort_pairs(queue, keys, sorted, order, other, terms);
    for_each(queue, terms, [=] TOKAPI_LAMBDA(uint64_t i) { keys[i] = swap_bytes(table.word(other[i], 0)); });
    sort_pairs(queue, keys, sorted, other, order, terms);
    sort_ties(queue, table, sorted, order);
  }
  const uint32_t* order() const { return order_.data(); }

  // The place of every id in order().
  const uint32_t* ranks(Queue& queue) {
    uint32_t* ranks = ranks_.reserve(settled_.terms + 1);
    const uint32_t* order = order_.data();
    for_each(queue, settled_.terms, [=] TOKAPI_LAMBDA(uint64_t rank) { ranks[order[rank]] = static_cast<uint32_t>(rank); });
    return ranks;
  }

  // The terms one after the other, by id or in the order given, and where each begins.
  void spell(Queue& queue, const uint32_t* order) {
    uint64_t terms = settled_.terms;
    uint64_t* offsets = offsets_.reserve(terms + 1);
    Table table = this->table();
    scan(queue, terms, [=] TOKAPI_LAMBDA(uint64_t i) -> uint64_t { return table.length(order ? order[i] : i); }, offsets);
    download(queue, offsets_here_.reserve(terms + 1), offsets, (terms + 1) * sizeof(uint64_t));
    queue.wait();
    uint64_t length = offsets_here_.data()[terms];
    uint8_t* bytes = bytes_.reserve(length);
    for_each(queue, terms, [=] TOKAPI_LAMBDA(uint64_t i) {
      uint32_t id = order ? order[i] : static_cast<uint32_t>(i);
      uint64_t to = offsets[i], end = offsets[i + 1];
      for (uint32_t number = 0; to < end; number++) {
        for (uint64_t word = table.word(id, number), n = 0; n < 8 && to < end; n++, word >>= 8) {
          bytes[to++] = static_cast<uint8_t>(word);
        }
      }
    });
    download(queue, bytes_here_.reserve(length), bytes, length);
  }
  const uint64_t* offsets_here() const { return offsets_here_.data(); }
  const uint8_t* bytes_here() const { return bytes_here_.data(); }


  // The steps of the above. Public because functions with kernels in them must be.

#ifdef __CUDACC__
  // More than twice as many slots as threads can be under way when the table is found full.
  static constexpr uint64_t FIRST_CAPACITY = uint64_t(1) << 20, FIRST_ARENA_WORDS = uint64_t(1) << 17;
#else
  // Small, so that tests see it grow.
  static constexpr uint64_t FIRST_CAPACITY = uint64_t(1) << 8, FIRST_ARENA_WORDS = 8;
#endif

  void allocate(uint64_t capacity, uint64_t arena_words) {
    // Nothing is there if memory runs out on the way.
    capacity_ = arena_words_ = 0;
    slots_.reserve(capacity);
    slot_of_.reserve(capacity / 2 + 1);
    arena_.reserve(arena_words);
    capacity_ = capacity;
    arena_words_ = arena_words;
  }

  // Moves the settled terms to a larger table, with the ids they have.
  void grow(Queue& queue, uint64_t capacity, uint64_t arena_words) {
    Buffer<Slot> old_slots = std::move(slots_);
    Buffer<uint32_t> old_slot_of = std::move(slot_of_);
    Buffer<uint64_t> old_arena = std::move(arena_);
    Counters settled = settled_;
    allocate(capacity, arena_words);
    clear(queue);
    settled_ = settled;
    copy(queue, arena_.data(), old_arena.data(), settled.arena_top * sizeof(uint64_t));
    *counters_here_.data() = settled;
    upload(queue, counters_.data(), counters_here_.data(), sizeof(Counters));
    const Slot* from = old_slots.data();
    const uint32_t* slot_of = old_slot_of.data();
    Table table = this->table();
    for_each(queue, settled.terms, [=] TOKAPI_LAMBDA(uint64_t id) {
      Slot slot = from[slot_of[id]];
      uint64_t s = table.home(slot.hash);
      while (Table::take(table.slots + s, slot.hash) != 0) s = (s + 1) & table.mask;
      table.slots[s] = slot;
      table.slot_of[id] = static_cast<uint32_t>(s);
    });
    queue.wait();
  }

  // Sorts by comparing, within every group of neighbours with equal keys.
  void sort_ties(Queue& queue, const Table& table, const uint64_t* keys, uint32_t* order) {
    uint64_t terms = settled_.terms;
    uint32_t* places = ranks_.reserve(terms + 1);
    uint32_t* count = tie_count_.reserve(1);
    compact(queue, terms, [=] TOKAPI_LAMBDA(uint32_t i) {
      return (i > 0 && tied(table, keys, order, i - 1, i)) || (i + 1 < terms && tied(table, keys, order, i, i + 1));
    }, places, count);
    tell(queue, tie_count_here_.reserve(1), count, 1);
    queue.wait();
    uint64_t ties = *tie_count_here_.data();
    if (ties == 0) return;
    uint32_t* ids = ties_.reserve(ties);
    for_each(queue, ties, [=] TOKAPI_LAMBDA(uint64_t i) { ids[i] = order[places[i]]; });
    merge_sort(queue, ids, ties, Before{table});
    for_each(queue, ties, [=] TOKAPI_LAMBDA(uint64_t i) { order[places[i]] = ids[i]; });
  }

  // Whether neighbours agree in their first 16 bytes.
  static TOKAPI_FN bool tied(const Table& table, const uint64_t* keys, const uint32_t* order, uint32_t a, uint32_t b) {
    return keys[a] == keys[b] && table.word(order[a], 1) == table.word(order[b], 1);
  }

  struct Before {
    Table table;
    TOKAPI_FN bool operator()(uint32_t a, uint32_t b) const { return table.before(a, b); }
  };

 private:
  uint64_t capacity_ = 0, arena_words_ = 0;
  Counters settled_{};
  Buffer<Slot> slots_;
  Buffer<uint32_t> slot_of_;
  Buffer<uint64_t> arena_;
  Buffer<Counters> counters_;
  Pinned<Counters> counters_here_;
  Buffer<uint64_t> keys_, offsets_;
  Buffer<uint32_t> order_, ranks_, tie_count_, ties_;
  Pinned<uint32_t> tie_count_here_;
  Buffer<uint8_t> bytes_;
  Pinned<uint64_t> offsets_here_;
  Pinned<uint8_t> bytes_here_;
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
