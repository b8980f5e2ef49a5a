// From terms to the pairs (id, document) of their occurrences, by any of the three methods: `hash`
// and `ppd` identify every occurrence and leave it to a radix sort to group them; `pp` groups
// them by sorting strings and identifies each group.
#pragma once

#include "cut.hpp"
#include "dictionary.hpp"
#include "lexicon.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

// An occurrence: the term's id above, the document below. Occurrences stand in text order, so a
// stable sort by id alone leaves documents ascending.
TOKAPI_FN uint64_t pair_of(uint32_t id, uint32_t document) { return uint64_t(id) << 32 | document; }
TOKAPI_FN uint32_t id_of(uint64_t pair) { return static_cast<uint32_t>(pair >> 32); }
TOKAPI_FN uint32_t document_of(uint64_t pair) { return static_cast<uint32_t>(pair); }

// A chunk's occurrences, as kernels see them.
struct Occurrences {
  const uint8_t* text;
  const uint64_t* inside;
  const uint32_t* starts;
  const uint32_t* first;
  uint64_t documents;
  uint32_t first_document;
  uint64_t hash_mask;

  TOKAPI_FN Key key(uint32_t start) const {
    return key_of(text + start, Cut::term_length(inside, start), hash_mask);
  }
};

// Calls function(i, document) for every occurrence.
template <class F>
void for_each_occurrence(Queue& queue, const Occurrences& occurrences, uint64_t count, Buffer<uint32_t>& tiles,
                         F function) {
  uint32_t first_document = occurrences.first_document;
  load_balancing_search(queue, occurrences.first, occurrences.documents, count, tiles.reserve(count / TILE + 2),
                        [=] TOKAPI_LAMBDA(uint64_t i, uint64_t document) {
    function(i, first_document + static_cast<uint32_t>(document));
  });
}

// `hash`: every occurrence is looked up in the lexicon's table.
inline void identify_by_hash(Queue& queue, const Occurrences& occurrences, uint64_t count, const Table& table,
                             Buffer<uint32_t>& tiles, uint64_t* pairs) {
  for_each_occurrence(queue, occurrences, count, tiles, [=] TOKAPI_LAMBDA(uint64_t i, uint32_t document) {
    pairs[i] = pair_of(table.id_of(occurrences.key(occurrences.starts[i])), document);
  });
}

// `ppd`: every occurrence is looked up in the dictionary; the lexicon only names the dictionary's
// terms that occur, once each, and those outside of it.
class ByDictionary {
 public:
  void load(Queue& queue, const tokapi_trie& trie) {
    if (trie.terms >= IN_DICTIONARY) throw Failure(TOKAPI_TOO_LARGE, "the dictionary has 2^31 or more terms");
    auto send = [&](auto& buffer, const auto* from, uint64_t count) {
      upload(queue, buffer.reserve(count), from, count * sizeof *from);
      return buffer.data();
    };
    const Dictionary& here = trie.arrays;
    dictionary_ = Dictionary{send(nodes_, here.nodes, trie.node_words),
                             send(labels_, here.labels, trie.label_words),
                             send(leaves_, here.leaves, trie.leaf_words),
                             send(tails_, here.tails, trie.tail_bytes),
                             send(shortcuts_, here.shortcuts, trie.shortcut_count),
                             send(codes_, here.codes, trie.code_count),
                             here.node_count,
                             here.shortcut_depth,
                             here.alphabet_size};
    terms_ = trie.terms;
  }
  const Dictionary& view() const { return dictionary_; }

  // No term has an id in the lexicon any more.
  void forget(Queue& queue) {
    fill(queue, names_.reserve(terms_), 0xFF, terms_ * sizeof(uint32_t));
    fill(queue, seen_.reserve(terms_), 0, terms_ * sizeof(uint32_t));
  }

  // Enqueues the lookups. `again`: the lexicon had no room for this chunk's terms the last time.
  void identify(Queue& queue, const Occurrences& occurrences, uint64_t count, const Table& table, bool unknown_one,
                bool again, Buffer<uint32_t>& tiles, uint64_t* pairs) {
    uint32_t* names = names_.data();
    uint32_t* seen = seen_.data();
    uint32_t* found = found_.reserve(count);
    uint32_t* fresh = fresh_.reserve(terms_);
    uint32_t* fresh_count = fresh_count_.reserve(1);
    Dictionary dictionary = dictionary_;
    uint64_t terms = terms_;
    if (again) {
      for_each(queue, terms, [=] TOKAPI_LAMBDA(uint64_t d) { if (seen[d]) names[d] = NO_ID; });
    }
    for_each(queue, count, [=] TOKAPI_LAMBDA(uint64_t i) {
      uint32_t start = occurrences.starts[i];
      uint32_t length = Cut::term_length(occurrences.inside, start);
      uint32_t d = lookup(dictionary, occurrences.text + start, length);
      if (d != UNKNOWN_TERM) {
        // Of several that write here at once any may win: the term is the same.
        if (names[d] == NO_ID) seen[d] = start + 1;
        found[i] = d | IN_DICTIONARY;
      } else {
        found[i] = table.id_of(key_of(occurrences.text + start, unknown_one ? 0 : length, occurrences.hash_mask));
      }
    });
    compact(queue, terms, [=] TOKAPI_LAMBDA(uint32_t d) { return seen[d] != 0; }, fresh, fresh_count);
    for_each(queue, terms, [=] TOKAPI_LAMBDA(uint64_t i) {
      if (i < *fresh_count) names[fresh[i]] = table.id_of(occurrences.key(seen[fresh[i]] - 1));
    });
    for_each_occurrence(queue, occurrences, count, tiles, [=] TOKAPI_LAMBDA(uint64_t i, uint32_t document) {
      uint32_t id = found[i];
      // NO_ID stands for no room in the lexicon, and all is done again.
      if (id != NO_ID && id & IN_DICTIONARY) id = names[id & ~IN_DICTIONARY];
      pairs[i] = pair_of(id, document);
    });
  }

  // The chunk's terms are in the lexicon for good.
  void settle(Queue& queue) { fill(queue, seen_.data(), 0, terms_ * sizeof(uint32_t)); }

 private:
  static constexpr uint32_t IN_DICTIONARY = uint32_t(1) << 31;
  Dictionary dictionary_{};
  uint64_t terms_ = 0;
  Buffer<uint64_t> nodes_, labels_, leaves_;
  Buffer<uint8_t> tails_, codes_;
  Buffer<uint32_t> shortcuts_;
  // The id in the lexicon of every term of the dictionary, and one more than the place of an
  // occurrence of those that have none yet.
  Buffer<uint32_t> names_, seen_;
  Buffer<uint32_t> found_, fresh_, fresh_count_;
};

// An occurrence with its first 8 bytes, so that the text is seldom looked at.
struct Entry {
  uint64_t prefix;
  uint64_t slice;
};

struct BeforeInText {
  const uint8_t* text;
  TOKAPI_FN bool operator()(const Entry& a, const Entry& b) const {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    return compare_slices(text, a.slice, b.slice, 8) < 0;
  }
};

// `pp`: occurrences are sorted as strings, by merging.
class ByStrings {
 public:
  // Enqueues the sort of all occurrences.
  void sort(Queue& queue, const Occurrences& occurrences, uint64_t count) {
    Entry* entries = entries_.reserve(count);
    for_each(queue, count, [=] TOKAPI_LAMBDA(uint64_t i) {
      uint32_t start = occurrences.starts[i];
      uint32_t length = Cut::term_length(occurrences.inside, start);
      uint64_t slice = slice_of(start, length);
      entries[i] = Entry{slice_word(occurrences.text, slice, 0), slice};
    });
    merge_sort(queue, entries, count, BeforeInText{occurrences.text});
    uint32_t* runs = runs_.reserve(count + 1);
    const uint8_t* text = occurrences.text;
    count_runs(queue, count, [=] TOKAPI_LAMBDA(uint32_t i) {
      return BeforeInText{text}(entries[i - 1], entries[i]);
    }, runs, run_count_.reserve(1));
    tell(queue, run_count_here_.reserve(1), run_count_.data(), 1);
    queue.wait();
  }

  // Enqueues naming the sorted terms, and the pairs of all occurrences, by the terms' ids, or by
  // their rank within this chunk.
  void identify(Queue& queue, const Occurrences& occurrences, uint64_t count, const Table& table,
                const uint64_t* document_starts, uint64_t base, bool by_rank, Buffer<uint32_t>& tiles,
                uint64_t* pairs) {
    const Entry* entries = entries_.data();
    const uint32_t* runs = runs_.data();
    uint64_t terms = *run_count_here_.data();
    uint32_t* ids = ids_.reserve(terms);
    for_each(queue, terms, [=] TOKAPI_LAMBDA(uint64_t run) { ids[run] = table.id_of(occurrences.key(slice_start(entries[runs[run]].slice))); });
    uint64_t documents = occurrences.documents;
    uint32_t first_document = occurrences.first_document;
    load_balancing_search(queue, runs, terms, count, tiles.reserve(count / TILE + 2), [=] TOKAPI_LAMBDA(uint64_t i, uint64_t run) {
      uint64_t document = upper_bound(document_starts, 0, documents, base + slice_start(entries[i].slice)) - 1;
      uint32_t id = by_rank ? static_cast<uint32_t>(run) : ids[run];
      pairs[i] = pair_of(id, first_document + static_cast<uint32_t>(document));
    });
  }

  // The ids of this chunk's terms, ascending by bytes.
  const uint32_t* ids() const { return ids_.data(); }

 private:
  Buffer<Entry> entries_;
  Buffer<uint32_t> runs_, run_count_, ids_;
  Pinned<uint32_t> run_count_here_;
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
