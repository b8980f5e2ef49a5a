// Postings lists on the device in less memory than plain integers take, in formats whose every posting is at
// hand at once; and what packs them there. For measuring (lists.cu).
#pragma once

#include "lists.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

constexpr uint32_t BLOCK_POSTINGS = 128, SAMPLE_POSTINGS = 64, CHUNK_SHIFT = 16;

// The tables of lists: none, of stretches with so many postings on average, as in DeviceLists, or of chunks of
// 65,536 documents.
constexpr uint64_t NO_TABLES = 0, CHUNKS = ~uint64_t(0);

// Every format has document(list, place), and find(list, document): its place, or NOWHERE.

// Plain integers, as they are today.
struct Plain {
  Lists lists;

  TOKAPI_FN uint32_t document(uint32_t number, uint32_t place) const {
    return lists.documents[lists.lists[number].start + place];
  }
  TOKAPI_FN uint64_t find(uint32_t number, uint32_t document) const {
    return lists.find(lists.lists[number], document);
  }
};

// Its words, table and blocks (or samples) begin at these places.
struct PackedList {
  uint64_t words, table;
  uint32_t first, count, shift, width;

  TOKAPI_FN void stretch(const uint32_t* tables, uint32_t document, uint32_t& from, uint32_t& to) const {
    from = 0;
    to = count;
    if (shift == NO_TABLE) return;
    const uint32_t* entry = tables + table + (document >> shift);
    from = entry[0];
    to = entry[1];
  }
};

// Value i of those of `width` bits each. The word after it is read too.
TOKAPI_FN uint32_t unpack(const uint32_t* words, uint32_t width, uint32_t i) {
  uint32_t bit = i * width;
  uint64_t both = words[bit / 32] | (static_cast<uint64_t>(words[bit / 32 + 1]) << 32);
  return static_cast<uint32_t>((both >> bit % 32) & ((uint64_t(1) << width) - 1));
}

// Packs the low bits of what documents are above `base`.
TOKAPI_FN void pack(const uint32_t* documents, uint32_t count, uint32_t base, uint32_t width, uint32_t* to) {
  uint64_t word = 0, mask = (uint64_t(1) << width) - 1;
  uint32_t bits = 0;
  for (uint32_t i = 0; i < count; i++) {
    word |= ((documents[i] - base) & mask) << bits;
    bits += width;
    if (bits < 32) continue;
    *to++ = static_cast<uint32_t>(word);
    word >>= 32;
    bits -= 32;
  }
  if (bits) *to = static_cast<uint32_t>(word);
}

// The first place from `from` on and below `to` whose value is not below `wanted`; `to` where none is.
template <class Value>
TOKAPI_FN uint32_t search(uint32_t from, uint32_t to, uint32_t wanted, const Value& value) {
  while (from < to) {
    uint32_t middle = from + (to - from) / 2;
    if (value(middle) < wanted) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from;
}

// Frame of reference: what documents are above the first of their block, in as many bits as its last takes.
struct alignas(8) Block {
  uint32_t base;
  // Where its words begin among those of the list, above 6 bits of width.
  uint32_t place;
};

struct Blocks {
  const PackedList* lists;
  const uint32_t *words, *tables;
  const Block* blocks;

  TOKAPI_FN uint32_t document(uint32_t number, uint32_t place) const {
    const PackedList& list = lists[number];
    const Block block = blocks[list.first + place / BLOCK_POSTINGS];
    return block.base + unpack(words + list.words + (block.place >> 6), block.place & 63, place % BLOCK_POSTINGS);
  }
  TOKAPI_FN uint64_t find(uint32_t number, uint32_t document) const {
    const PackedList& list = lists[number];
    uint32_t from, to;
    list.stretch(tables, document, from, to);
    if (from == to) return NOWHERE;
    // The last block that begins with the document or one before it.
    const Block* of_list = blocks + list.first;
    uint32_t low = from / BLOCK_POSTINGS, high = (to - 1) / BLOCK_POSTINGS;
    while (low < high) {
      uint32_t middle = high - (high - low) / 2;
      if (of_list[middle].base <= document) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    const Block block = of_list[low];
    if (document < block.base) return NOWHERE;
    uint32_t first = low * BLOCK_POSTINGS, wanted = document - block.base, width = block.place & 63;
    const uint32_t* of_block = words + list.words + (block.place >> 6);
    from = from > first ? from - first : 0;
    to = to - first < BLOCK_POSTINGS ? to - first : BLOCK_POSTINGS;
    auto value = [=](uint32_t i) { return unpack(of_block, width, i); };
    uint32_t at = search(from, to, wanted, value);
    return at < to && value(at) == wanted ? uint64_t(first) + at : NOWHERE;
  }
};

// The low bits of documents, of one width in a list, whole bytes where WHOLE; the others are the number of
// the stretch, which its table tells. The stretch of every SAMPLE_POSTINGSth posting is kept (Elias and Fano,
// with a table in the place of the unary code).
template <bool WHOLE>
struct LowBits {
  const PackedList* lists;
  const uint32_t *words, *tables, *samples;

  TOKAPI_FN uint32_t low(const PackedList& list, uint32_t place) const {
    const uint32_t* of_list = words + list.words;
    if (!WHOLE) return unpack(of_list, list.width, place);
    uint32_t bit = place * list.width;
    return (of_list[bit / 32] >> bit % 32) & (~uint32_t(0) >> (32 - list.width));
  }
  TOKAPI_FN uint32_t document(uint32_t number, uint32_t place) const {
    const PackedList& list = lists[number];
    if (list.shift == NO_TABLE) return low(list, place);
    const uint32_t* sample = samples + list.first + place / SAMPLE_POSTINGS;
    uint64_t after = upper_bound(tables + list.table, uint64_t(sample[0]) + 1, uint64_t(sample[1]) + 1, place);
    return (static_cast<uint32_t>(after - 1) << list.shift) | low(list, place);
  }
  TOKAPI_FN uint64_t find(uint32_t number, uint32_t document) const {
    const PackedList& list = lists[number];
    uint32_t from, to, wanted = document & (~uint32_t(0) >> (32 - list.width));
    list.stretch(tables, document, from, to);
    uint32_t at = search(from, to, wanted, [&](uint32_t i) { return low(list, i); });
    return at < to && low(list, at) == wanted ? at : NOWHERE;
  }
};

// Packs all lists. Public because of the kernels.
struct Packing {
  Queue& queue;
  DeviceLists& of;
  uint32_t documents_count;
  std::vector<PackedList> lists_here;
  Buffer<PackedList> lists;
  Buffer<uint32_t> words, tables, samples, offsets, tiles, sizes;
  Buffer<uint64_t> ends;
  Buffer<Block> blocks;
  uint64_t bytes = 0, block_count = 0;

  Packing(Queue& queue, DeviceLists& of, uint32_t documents_count)
      : queue(queue), of(of), documents_count(documents_count) {}

  uint32_t shift_of(uint64_t count, uint64_t stretch) const {
    if (stretch == CHUNKS) {
      // The table takes as much as the upper halves of so many postings.
      return count < 2 * DeviceLists::entries(documents_count, CHUNK_SHIFT) ? NO_TABLE : CHUNK_SHIFT;
    }
    if (stretch == NO_TABLES || count <= 2 * stretch) return NO_TABLE;
    uint32_t shift = 0;
    while ((uint64_t(documents_count) >> shift) > count / stretch) shift++;
    return shift;
  }

  // Says where what of which list begins, except for words.
  void lay_out(uint64_t stretch) {
    uint64_t table_count = 0, count = of.count();
    std::vector<uint32_t> block_offsets(count);
    lists_here.resize(count);
    for (uint64_t number = 0; number < count; number++) {
      uint32_t postings = of.list(static_cast<uint32_t>(number)).count, shift = shift_of(postings, stretch);
      block_offsets[number] = static_cast<uint32_t>(block_count);
      lists_here[number] = PackedList{0, table_count, block_offsets[number], postings, shift, 0};
      block_count += (postings + BLOCK_POSTINGS - 1) / BLOCK_POSTINGS;
      if (shift != NO_TABLE) table_count += DeviceLists::entries(documents_count, shift);
    }
    upload(queue, offsets.reserve(count), block_offsets.data(), count * sizeof(uint32_t));
    queue.wait();
    tables.reserve(table_count);
    bytes = count * sizeof(PackedList) + table_count * sizeof(uint32_t);
  }

  void fill_tables(bool sampled) {
    upload(queue, lists.reserve(of.count()), lists_here.data(), of.count() * sizeof(PackedList));
    queue.wait();
    const PackedList* of_lists = lists.data();
    const uint32_t* documents = of.view().documents;
    uint32_t *to = tables.data(), *to_samples = samples.data();
    uint64_t of_documents = documents_count;
    of.for_each_posting([=] TOKAPI_LAMBDA(uint64_t number, uint64_t place, uint64_t at) {
      const PackedList& list = of_lists[number];
      if (list.shift == NO_TABLE) return;
      uint32_t stretch = documents[at] >> list.shift;
      uint64_t from = place ? (documents[at - 1] >> list.shift) + 1 : 0;
      for (uint64_t entry = from; entry <= stretch; entry++) to[list.table + entry] = static_cast<uint32_t>(place);
      bool last = place + 1 == list.count;
      uint64_t sample = list.first + place / SAMPLE_POSTINGS;
      if (sampled && place % SAMPLE_POSTINGS == 0) to_samples[sample] = stretch;
      if (sampled && last) to_samples[sample + 1] = stretch;
      if (!last) return;
      uint64_t end = DeviceLists::entries(of_documents, list.shift);
      for (uint64_t entry = stretch + uint64_t(1); entry < end; entry++) to[list.table + entry] = list.count;
    });
    of.wait_for_all();
  }

  // function(block among all, list, its postings, the first of them) for every block.
  template <class F>
  void for_each_block(F function) {
    const uint32_t *block_offsets = offsets.data(), *documents = of.view().documents;
    const List* plain = of.view().lists;
    load_balancing_search(queue, block_offsets, of.count(), block_count, tiles.reserve(block_count / TILE + 2),
                          [=] TOKAPI_LAMBDA(uint64_t block, uint64_t number) {
      uint32_t place = static_cast<uint32_t>(block - block_offsets[number]) * BLOCK_POSTINGS;
      uint32_t left = plain[number].count - place;
      function(block, number, left < BLOCK_POSTINGS ? left : BLOCK_POSTINGS, documents + plain[number].start + place);
    });
  }

  Blocks in_blocks(uint64_t stretch) {
    lay_out(stretch);
    fill_tables(false);
    Block* to = blocks.reserve(block_count);
    uint32_t* size = sizes.reserve(block_count);
    for_each_block([=] TOKAPI_LAMBDA(uint64_t block, uint64_t, uint32_t count, const uint32_t* documents) {
      uint32_t width = 0;
      while ((documents[count - 1] - documents[0]) >> width) width++;
      to[block] = Block{documents[0], width};
      size[block] = (count * width + 31) / 32;
    });
    uint64_t word_count = 0, *end = ends.reserve(block_count + 1);
    scan(queue, block_count, [=] TOKAPI_LAMBDA(uint64_t block) { return size[block]; }, end);
    download(queue, &word_count, end + block_count, sizeof word_count);
    queue.wait();
    uint32_t* to_words = words.reserve(word_count);
    PackedList* to_lists = lists.data();
    for_each_block([=] TOKAPI_LAMBDA(uint64_t block, uint64_t number, uint32_t count, const uint32_t* documents) {
      uint32_t first = to_lists[number].first, width = to[block].place;
      if (block == first) to_lists[number].words = end[first];
      pack(documents, count, documents[0], width, to_words + end[block]);
      to[block].place = static_cast<uint32_t>(end[block] - end[first]) << 6 | width;
    });
    bytes += block_count * sizeof(Block) + word_count * sizeof(uint32_t);
    return Blocks{to_lists, to_words, tables.data(), to};
  }

  template <bool WHOLE>
  LowBits<WHOLE> in_low_bits(uint64_t stretch) {
    uint64_t word_count = 0, sample_count = 0;
    lay_out(stretch);
    for (PackedList& list : lists_here) {
      list.words = word_count;
      list.first = static_cast<uint32_t>(sample_count);
      if (list.shift != NO_TABLE) sample_count += (list.count + SAMPLE_POSTINGS - 1) / SAMPLE_POSTINGS + 1;
      list.width = std::max<uint32_t>(list.shift, 1);
      while (list.shift == NO_TABLE && !((documents_count - 1) >> (list.width - 1))) list.width--;
      if (WHOLE) list.width = list.width <= 8 ? 8 : list.width <= 16 ? 16 : 32;
      word_count += (uint64_t(list.count) * list.width + 31) / 32;
    }
    samples.reserve(sample_count);
    fill_tables(true);
    uint32_t* to_words = words.reserve(word_count);
    const PackedList* of_lists = lists.data();
    const uint32_t* block_offsets = offsets.data();
    for_each_block([=] TOKAPI_LAMBDA(uint64_t block, uint64_t number, uint32_t count, const uint32_t* documents) {
      const PackedList& list = of_lists[number];
      uint64_t before = (block - block_offsets[number]) * (BLOCK_POSTINGS / 32) * list.width;
      pack(documents, count, 0, list.width, to_words + list.words + before);
    });
    bytes += (word_count + sample_count) * sizeof(uint32_t);
    return LowBits<WHOLE>{of_lists, to_words, tables.data(), samples.data()};
  }
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
