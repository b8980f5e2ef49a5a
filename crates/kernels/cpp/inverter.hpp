// An engine on one device: inverts single chunks, or collects and weighs whole collections with
// upload, computation and download overlapped.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "chunks.hpp"
#include "functors.hpp"
#include "stopwatch.hpp"
#include "weigh.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

class Inverter {
 public:
  Inverter(const tokapi_options& options, const tokapi_trie* trie)
      : options_(options), chunks_(options), stopwatch_(options.timed != 0) {
    options_.beyond_ascii = nullptr;
    if (trie) dictionary_.load(work_, *trie);
    work_.wait();
  }

  ~Inverter() { wait_for_all(); }

  // Waits until nothing is under way any more, whatever became of it.
  void wait_for_all() noexcept {
    for (Queue* queue : {&chunks_.uploading(), &chunks_.cutting(), &work_, &down_}) {
      try {
        queue->wait();
      } catch (const Failure&) {
        // Told by the call that comes next.
      }
    }
  }

  // One chunk, its terms ascending by bytes. Its text is copied to pinned memory first.
  void invert(const tokapi_text& given, tokapi_inverted& inverted) {
    begin(given);
    tokapi_text text = given;
    text.bytes = text_here_.reserve(given.length);
    if (given.length) std::memcpy(text_here_.data(), given.bytes, given.length);
    upload_documents(text);
    upload_chunk(text, 0, text.documents);
    chunks_.cut_chunk(0);
    Part& part = this->part(0);
    local(0, part, /*by_rank=*/true);
    work_.wait();
    download_segments(part);
    small_.split(work_, part);
    download(work_, small_here_.reserve(part.postings), small_.bytes(), part.postings);
    lexicon_.spell(work_, order_);
    download(work_, lengths_here_.reserve(text.documents), lengths_.data(), text.documents * 4);
    finish_download();
    inverted = tokapi_inverted{lexicon_.terms(),
                               part.postings,
                               lexicon_.bytes_here(),
                               lexicon_.offsets_here(),
                               part.segment_starts_here.data(),
                               part.documents_here.data(),
                               small_here_.data(),
                               small_.large_places(),
                               small_.large_values(),
                               small_.large_count(),
                               lengths_here_.data()};
  }

  // The local pass: chunk after chunk, each chunk's documents going down as soon as they are
  // known, while the next chunks come up.
  void collect(const tokapi_text& text, uint64_t chunk_bytes, tokapi_collected& collected) {
    begin(text);
    upload_documents(text);
    std::vector<uint64_t> ends = Chunks::ends(text, chunk_bytes);
    uint64_t count = ends.size();
    auto first = [&](uint64_t chunk) { return chunk ? ends[chunk - 1] : 0; };
    for (uint64_t chunk = 0; chunk < count && chunk < TEXTS - 1; chunk++) {
      upload_chunk(text, first(chunk), ends[chunk], chunk);
    }
    if (count) chunks_.cut_chunk(0);
    for (uint64_t chunk = 0; chunk < count; chunk++) {
      if (chunk + 2 < count) upload_chunk(text, first(chunk + 2), ends[chunk + 2], chunk + 2);
      // While this chunk is computed on, the next is cut.
      if (chunk + 1 < count && !options_.timed) chunks_.cut_chunk(chunk + 1);
      local(chunk, part(chunk), /*by_rank=*/false);
      // The number of segments of the one before is known now.
      if (chunk > 0) download_segments(part(chunk - 1));
      if (chunk + 1 < count && options_.timed) chunks_.cut_chunk(chunk + 1);
    }
    part_count_ = count;
    extend_df();
    weighing_.find_df_values(work_, df_.data(), lexicon_.terms(), documents_);
    counted_.record(work_);
    weighing_.tell_df_values(work_);
    stopwatch_.add(work_, times_.df);
    if (count > 0) download_segments(part(count - 1));
    // The link is idle until the first weights are known: terms and df go down.
    counted_.before(chunks_.cutting());
    lexicon_.spell(chunks_.cutting(), nullptr);
    download(chunks_.cutting(), df_here_.reserve(lexicon_.terms()), df_.data(), lexicon_.terms() * 4);
    download(chunks_.cutting(), lengths_here_.reserve(documents_), lengths_.data(), documents_ * 4);
    stopwatch_.add(chunks_.cutting(), times_.download);
    collected = tokapi_collected{total_length_, part_count_, weighing_.values(), weighing_.value_count()};
  }

  // The global pass: part after part is weighed and goes down, while the lexicon is sorted.
  void weigh(const tokapi_formula& formula, tokapi_lexicon& lexicon) {
    uint64_t terms = lexicon_.terms();
    Weigher weigher = weighing_.prepare(work_, formula, df_.data(), terms, lengths_.data(), documents_);
    for (uint64_t chunk = 0; chunk < part_count_; chunk++) {
      Part& part = this->part(chunk);
      weighing_.weigh(work_, weigher, part);
      stopwatch_.add(work_, times_.weigh);
      part.computed.record(work_);
      part.computed.before(down_);
      download(down_, part.weights_here.reserve(part.postings), part.frequencies.data(), part.postings * 4);
      stopwatch_.add(down_, times_.download);
    }
    lexicon_.sort(chunks_.cutting());
    stopwatch_.add(chunks_.cutting(), times_.order);
    download(chunks_.cutting(), order_here_.reserve(terms), lexicon_.order(), terms * 4);
    stopwatch_.add(chunks_.cutting(), times_.download);
    chunks_.cutting().wait();
    finish_download();
    lexicon = tokapi_lexicon{terms,          lexicon_.bytes_here(), lexicon_.offsets_here(),
                             df_here_.data(), order_here_.data(),    lengths_here_.data()};
  }

  void part(uint64_t number, tokapi_part& part) {
    if (number >= part_count_) throw Failure(TOKAPI_DEVICE_FAILED, "there is no such part");
    Part& of = this->part(number);
    part = tokapi_part{of.postings,
                       of.segments(),
                       of.segment_terms_here.data(),
                       of.segment_starts_here.data(),
                       of.documents_here.data(),
                       of.weights_here.data()};
  }

  // Cuts a text and looks every term up in the dictionary, `repeat` times; gives the seconds that
  // all the lookups took.
  double lookup_all(const tokapi_text& text, uint32_t repeat, const uint32_t*& ids, uint64_t& count) {
    begin(text);
    upload_documents(text);
    upload_chunk(text, 0, text.documents);
    chunks_.cut_chunk(0);
    Cut& cut = chunks_.cut(0);
    chunks_[0].cut.before(work_);
    count = cut.finish(work_);
    work_.wait();
    uint32_t* found = found_.reserve(count);
    Dictionary dictionary = dictionary_.view();
    const uint8_t* bytes = cut.text().data();
    const uint64_t* inside = cut.inside();
    const uint32_t* starts = cut.starts();
    auto started = std::chrono::steady_clock::now();
    for (uint32_t turn = 0; turn < repeat; turn++) {
      for_each(work_, count, [=] TOKAPI_LAMBDA(uint64_t i) {
        found[i] = lookup(dictionary, bytes + starts[i], Cut::term_length(inside, starts[i]));
      });
    }
    work_.wait();
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    download(work_, order_here_.reserve(count), found, count * 4);
    work_.wait();
    ids = order_here_.data();
    return seconds;
  }

  tokapi_times times() const { return times_; }
  uint32_t device() const { return options_.device; }

  // Device memory that inverting a chunk takes at most, were every second byte a term of its own.
  static uint64_t peak_bytes(uint64_t text_bytes, uint32_t method) {
    uint64_t terms = text_bytes / 2 + 1;
    // Text and its bits; starts, pairs twice, heads, postings (term, document, frequency), segments.
    uint64_t bytes = text_bytes + text_bytes / 5 + terms * (4 + 16 + 4 + 12 + 8);
    // The table, half full at most and a power of two, while it grows; sorting its terms.
    bytes += terms * (4 * sizeof(Slot) + sizeof(Slot) + 8) + terms * (16 + 8 + 4);
    if (method == TOKAPI_PP) bytes += terms * 2 * 16;
    if (method == TOKAPI_PPD) bytes += terms * 4;
    if (method == TOKAPI_MARS) bytes += Mars::pair_bytes(terms);
    // What grows takes an eighth more than it must; primitives have their own.
    return bytes + bytes / 4 + (uint64_t(64) << 20);
  }

  // The steps of the above. Public because functions with kernels in them must be.

  void begin(const tokapi_text& text) {
    // What an earlier collection left, if nobody waited for its weights.
    wait_for_all();
    if (options_.fail_after && ++calls_ >= options_.fail_after) {
      throw Failure(TOKAPI_DEVICE_FAILED, "the device was lost (as the test asked)");
    }
    if (text.documents >= NO_ID) throw Failure(TOKAPI_TOO_LARGE, "2^32 or more documents");
    times_ = tokapi_times{};
    total_length_ = 0;
    documents_ = text.documents;
    part_count_ = 0;
    lexicon_.clear(work_);
    if (options_.method == TOKAPI_PPD) dictionary_.forget(work_);
    df_terms_ = 0;
    stopwatch_.start();
  }

  void upload_documents(const tokapi_text& text) {
    lengths_.reserve(text.documents);
    chunks_.upload_documents(text);
  }

  void upload_chunk(const tokapi_text& text, uint64_t from, uint64_t to, uint64_t chunk = 0) {
    chunks_.upload_chunk(text, from, to, chunk);
    stopwatch_.add(chunks_.uploading(), times_.upload);
  }

  // The local pass over one chunk.
  void local(uint64_t chunk, Part& part, bool by_rank) {
    Chunk& of = chunks_[chunk];
    Cut& cut = chunks_.cut(chunk);
    of.cut.before(work_);
    bool by_mars = options_.method == TOKAPI_MARS;
    uint64_t count = by_mars ? cut.count() : cut.finish(work_);
    stopwatch_.add(work_, times_.cut);
    total_length_ += count;
    write_lengths(cut, of);
    stopwatch_.add(work_, times_.documents);
    if (by_mars) return local_by_mars(of, cut, part, by_rank);
    Occurrences occurrences{cut.text().data(), cut.inside(), cut.starts(), cut.first(),
                            of.documents, static_cast<uint32_t>(of.from), options_.hash_mask};
    uint64_t* pairs = nullptr;
    for (bool again = false;; again = true) {
      pairs = pairs_.reserve(count);
      identify(occurrences, count, of, by_rank, again, pairs);
      // Ranks need all terms; ids can be sorted before it is known whether there was room for them.
      if (by_rank && !settled(count)) continue;
      pairs = group(pairs, count, by_rank);
      counting_.find_postings(work_, pairs, count);
      stopwatch_.add(work_, times_.tf);
      if (settled(count)) break;
    }
    of.free.record(work_);
    if (options_.method == TOKAPI_PPD) dictionary_.settle(work_);
    counting_.count_frequencies(work_, pairs, count, part);
    stopwatch_.add(work_, times_.tf);
    download_documents(part);
    if (!by_rank) extend_df();
    counting_.count_documents(work_, part, lexicon_.terms(), by_rank ? nullptr : df_.data());
    part.computed.record(work_);
    stopwatch_.add(work_, times_.df);
  }

  // The same by MapReduce: a document is a record, (term, document) its pairs, and tf and df what they are
  // reduced to.
  void local_by_mars(Chunk& of, Cut& cut, Part& part, bool by_rank) {
    uint32_t* starts = record_starts_.reserve(of.documents + 1);
    const uint64_t* document_starts = chunks_.document_starts(of);
    uint64_t documents = of.documents, base = of.base, length = of.length;
    for_each(work_, documents + 1, [=] TOKAPI_LAMBDA(uint64_t d) {
      starts[d] = static_cast<uint32_t>(d < documents ? document_starts[d] - base : length);
    });
    Records records{cut.text().data(), starts, documents, 0, static_cast<uint32_t>(length)};
    MapTerms<Inside> map{Inside{cut.inside()}};
    uint64_t count = mars_.count(work_, map, records);
    mars_.emit(work_, map, records, 0);
    stopwatch_.add(work_, times_.map);
    mars_.sort(work_, PairKind{true, false, false, 0}, records.bytes, options_.sort);
    stopwatch_.add(work_, times_.sort);
    uint64_t terms = mars_.group(work_);
    stopwatch_.add(work_, times_.group);
    part.postings = mars_.reduce(work_, ReduceRuns{});
    take_reduced(of, part, terms);
    stopwatch_.add(work_, times_.tf);
    // Every term by its number in the lexicon.
    const Emitted* pairs = mars_.pairs();
    const uint32_t* groups = mars_.group_starts();
    uint32_t* ids = part.segment_terms.reserve(terms);
    uint64_t hash_mask = options_.hash_mask;
    do {
      Table table = lexicon_.table();
      for_each(work_, terms, [=] TOKAPI_LAMBDA(uint64_t g) {
        uint64_t term = pairs[groups[g]].rest;
        ids[g] = table.id_of(key_of(records.bytes + slice_start(term), slice_length(term), hash_mask));
      });
    } while (!settled(count));
    of.free.record(work_);
    stopwatch_.add(work_, times_.identify);
    download_documents(part);
    if (by_rank) {
      uint32_t* order = mars_order_.reserve(terms);
      for_each(work_, terms, [=] TOKAPI_LAMBDA(uint64_t g) {
        order[g] = ids[g];
        ids[g] = static_cast<uint32_t>(g);
      });
      order_ = order;
    } else {
      extend_df();
      uint32_t* df = df_.data();
      const uint32_t* firsts = part.segment_starts.data();
      for_each(work_, terms, [=] TOKAPI_LAMBDA(uint64_t g) { df[ids[g]] += firsts[g + 1] - firsts[g]; });
    }
    *part.segments_here.reserve(1) = static_cast<uint32_t>(terms);
    part.computed.record(work_);
    stopwatch_.add(work_, times_.df);
  }

  // Postings from what was reduced to documents and frequencies.
  void take_reduced(const Chunk& of, Part& part, uint64_t terms) {
    const uint64_t* values = mars_.values();
    const uint32_t* firsts = mars_.value_starts();
    uint32_t* documents = part.documents.reserve(part.postings);
    uint32_t* frequencies = part.frequencies.reserve(part.postings);
    uint32_t* starts = part.segment_starts.reserve(terms + 1);
    uint32_t first_document = static_cast<uint32_t>(of.from);
    for_each(work_, part.postings, [=] TOKAPI_LAMBDA(uint64_t p) {
      documents[p] = first_document + static_cast<uint32_t>(values[p] >> 32);
      frequencies[p] = static_cast<uint32_t>(values[p]);
    });
    for_each(work_, terms + 1, [=] TOKAPI_LAMBDA(uint64_t g) { starts[g] = firsts[g]; });
  }

  // Waits for what was enqueued, and tells whether all terms had room in the lexicon.
  bool settled(uint64_t count) {
    lexicon_.ask(work_);
    work_.wait();
    return lexicon_.settle(work_, count);
  }

  // The pairs of all occurrences, by the method asked for; `pp` has grouped them already.
  void identify(const Occurrences& occurrences, uint64_t count, const Chunk& of, bool by_rank, bool again,
                uint64_t* pairs) {
    switch (options_.method) {
      case TOKAPI_PP:
        if (!again) strings_.sort(work_, occurrences, count);
        stopwatch_.add(work_, times_.sort);
        strings_.identify(work_, occurrences, count, lexicon_.table(), chunks_.document_starts(of), of.base,
                          by_rank, tiles_, pairs);
        break;
      case TOKAPI_PPD:
        dictionary_.identify(work_, occurrences, count, lexicon_.table(), options_.unknown_one != 0, again, tiles_,
                             pairs);
        break;
      default:
        identify_by_hash(work_, occurrences, count, lexicon_.table(), tiles_, pairs);
    }
    stopwatch_.add(work_, times_.identify);
  }

  // Groups occurrences by term, after replacing ids by ranks if so asked.
  uint64_t* group(uint64_t* pairs, uint64_t count, bool by_rank) {
    if (options_.method == TOKAPI_PP) {
      order_ = strings_.ids();
      return pairs;
    }
    if (by_rank) {
      lexicon_.sort(work_);
      order_ = lexicon_.order();
      const uint32_t* ranks = lexicon_.ranks(work_);
      for_each(work_, count, [=] TOKAPI_LAMBDA(uint64_t i) {
        pairs[i] = pair_of(ranks[id_of(pairs[i])], document_of(pairs[i]));
      });
      stopwatch_.add(work_, times_.order);
    }
    pairs = sort_keys(work_, pairs, other_pairs_.reserve(count), count, 32, 32 + lexicon_.id_bits());
    stopwatch_.add(work_, times_.sort);
    return pairs;
  }

  void write_lengths(const Cut& cut, const Chunk& of) {
    uint32_t* lengths = lengths_.data() + of.from;
    const uint32_t* first = cut.first();
    for_each(work_, of.documents, [=] TOKAPI_LAMBDA(uint64_t d) { lengths[d] = first[d + 1] - first[d]; });
  }

  // Makes room for the df of new terms, which begin at 0.
  void extend_df() {
    uint64_t terms = lexicon_.terms();
    if (terms > df_.capacity()) {
      Buffer<uint32_t> old = std::move(df_);
      df_.reserve(2 * terms);
      copy(work_, df_.data(), old.data(), df_terms_ * 4);
      work_.wait();
    }
    fill(work_, df_.data() + df_terms_, 0, (terms - df_terms_) * 4);
    df_terms_ = terms;
  }

  void download_documents(Part& part) {
    part.computed.record(work_);
    part.computed.before(down_);
    download(down_, part.documents_here.reserve(part.postings), part.documents.data(), part.postings * 4);
    stopwatch_.add(down_, times_.download);
  }

  // To be called when the queue has been waited for since the part was counted.
  void download_segments(Part& part) {
    uint64_t segments = part.segments();
    part.computed.before(down_);
    download(down_, part.segment_terms_here.reserve(segments), part.segment_terms.data(), segments * 4);
    download(down_, part.segment_starts_here.reserve(segments + 1), part.segment_starts.data(), (segments + 1) * 4);
    stopwatch_.add(down_, times_.download);
  }

  void finish_download() {
    work_.wait();
    down_.wait();
  }

  Part& part(uint64_t number) {
    while (parts_.size() <= number) parts_.emplace_back(new Part);
    return *parts_[number];
  }

 private:
  tokapi_options options_;
  Chunks chunks_;
  Queue work_, down_;
  Buffer<uint64_t> pairs_, other_pairs_;
  Lexicon lexicon_;
  ByDictionary dictionary_;
  ByStrings strings_;
  Mars mars_;
  Counting counting_;
  Weighing weighing_;
  Buffer<uint32_t> tiles_, record_starts_, mars_order_;
  Event counted_;
  std::vector<std::unique_ptr<Part>> parts_;
  Buffer<uint32_t> lengths_, df_, found_;
  Small small_;
  Pinned<uint8_t> text_here_, small_here_;
  Pinned<uint32_t> lengths_here_, df_here_, order_here_;
  const uint32_t* order_ = nullptr;
  uint64_t documents_ = 0, part_count_ = 0, total_length_ = 0, df_terms_ = 0, calls_ = 0;
  tokapi_times times_{};
  Stopwatch stopwatch_;
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
