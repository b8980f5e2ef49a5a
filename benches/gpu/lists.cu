// How lists lie best on the device: generates lists as a collection of ten million documents has them, brings
// them there as they are today and packed in several ways, and prints for each the bytes of a posting with what
// is needed to find it, the queries (AND) a second whose matches PARA marks and counts (and elements of their
// shortest lists), and the rate at which lists of a thousandth of the documents or more are gone through. All
// must have the same matches.
//
//     lists [DOCUMENTS]
//
// Built by benches/gpu/build. Compiles for the host too, where only the answers mean something:
//
//     g++ -x c++ -std=c++17 -O2 -Ikernels/cpp benches/gpu/lists.cu -o lists && ./lists 20000
#include <chrono>
#include <cstdio>
#include <memory>

#include "intersect.hpp"
#include "packed.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

#ifdef __CUDACC__
constexpr uint32_t BATCHES = 16, TIMES = 3;
#else
constexpr uint32_t BATCHES = 2, TIMES = 1;
#endif
constexpr uint32_t QUERIES = 4096, CHECKED = 64;
// Postings of a long list that 256 threads go through: 64 each, so that their sums are few beside them.
constexpr uint32_t SECTION_POSTINGS = 16384, SECTION_THREADS = 256;

// A random number of `x` (splitmix64).
TOKAPI_FN uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Lists of generated documents: the df of the term at rank r is as in texts of 56 words, those of the most
// frequent terms left out. In `clustered` ones half of the documents are of 32 out of 256 parts of all.
struct Collection {
  uint32_t documents_count;
  std::vector<uint64_t> starts{0};
  std::vector<uint32_t> documents;
  std::unique_ptr<DeviceLists> lists;

  uint64_t count() const { return starts.size() - 1; }
  uint32_t count(uint64_t list) const { return static_cast<uint32_t>(starts[list + 1] - starts[list]); }

  Collection(Queue& queue, uint32_t of, double share, bool clustered) : documents_count(of) {
    std::vector<uint32_t> offsets(of / 10 + 1);
    for (uint64_t list = 0; list + 1 < offsets.size(); list++) {
      offsets[list + 1] = offsets[list] + static_cast<uint32_t>(3.35 * of / (static_cast<double>(list) + 3.35 / share));
    }
    draw(queue, offsets, clustered);
    lists.reset(new DeviceLists({0, documents.size()}));
    std::vector<uint8_t> frequencies(documents.size(), 1);
    lists->load(queue, documents.data(), frequencies.data(), documents.size(), 0);
    queue.wait();
    std::vector<uint32_t> lengths(of, 56);
    lists->finish({count(), starts.data(), of, lengths.data(), nullptr, nullptr, 0});
  }

  // Random documents for every list, sorted, each once.
  void draw(Queue& queue, const std::vector<uint32_t>& offsets_here, bool clustered) {
    uint64_t list_count = offsets_here.size() - 1, drawn = offsets_here.back(), of = documents_count, part = of / 256;
    Buffer<uint32_t> offsets, tiles, firsts, runs, found;
    Buffer<uint64_t> keys, others;
    upload(queue, offsets.reserve(list_count), offsets_here.data(), list_count * sizeof(uint32_t));
    uint64_t* to = keys.reserve(drawn);
    load_balancing_search(queue, offsets.data(), list_count, drawn, tiles.reserve(drawn / TILE + 2),
                          [=] TOKAPI_LAMBDA(uint64_t i, uint64_t list) {
      uint64_t random = mixed(i), document = multiply_high(random, of);
      if (clustered && random & 1) document = mixed(list * 32 + random / 2 % 32) % 256 * part + document % part;
      to[i] = (list << 32) | document;
    });
    const uint64_t* sorted = sort_keys(queue, to, others.reserve(drawn), drawn, 0, 56);
    count_runs(queue, drawn, [=] TOKAPI_LAMBDA(uint32_t i) { return sorted[i] != sorted[i - 1]; },
               firsts.reserve(drawn + 1), runs.reserve(1));
    uint32_t kept = 0;
    download(queue, &kept, runs.data(), sizeof kept);
    queue.wait();
    const uint32_t* first = firsts.data();
    uint32_t *documents_there = found.reserve(kept), *starts_there = offsets.data();
    for_each(queue, kept, [=] TOKAPI_LAMBDA(uint64_t i) {
      uint64_t key = sorted[first[i]];
      documents_there[i] = static_cast<uint32_t>(key);
      if (i == 0 || key >> 32 != sorted[first[i - 1]] >> 32) starts_there[key >> 32] = static_cast<uint32_t>(i);
    });
    documents.resize(kept);
    std::vector<uint32_t> starts_here(list_count);
    download(queue, documents.data(), documents_there, kept * sizeof(uint32_t));
    download(queue, starts_here.data(), starts_there, list_count * sizeof(uint32_t));
    queue.wait();
    starts.assign(starts_here.begin(), starts_here.end());
    starts.push_back(kept);
  }
};

// Batches of queries of 2 to 4 terms, drawn as often as documents have them, and what they are timed with.
struct Measuring {
  struct Queries {
    std::vector<tokapi_term> terms;
    std::vector<tokapi_query> queries;
    std::vector<uint32_t> order;
    BatchOnDevice up;
    Batch batch;
    Pinned<uint32_t> starts;
  };
  struct Section {
    uint32_t list, first, count;
  };

  Queue& queue;
  const Collection& of;
  std::vector<Queries> batches{BATCHES};
  std::vector<Section> sections_here;
  Buffer<Section> sections;
  Buffer<uint32_t> tiles, words, ranks, sums;
  Buffer<uint64_t> checksums;
  uint64_t long_postings = 0, elements = 0, first_sum = 0;
  std::vector<uint64_t> first_answers;

  Measuring(Queue& queue, const Collection& of) : queue(queue), of(of) {
    uint64_t random = 1;
    for (Queries& batch : batches) {
      for (uint64_t number = 0; number < QUERIES; number++) {
        uint32_t first = static_cast<uint32_t>(batch.terms.size());
        uint32_t count = static_cast<uint32_t>(2 + (random = mixed(random)) % 3);
        while (batch.terms.size() < first + count) {
          uint64_t posting = multiply_high(random = mixed(random), of.documents.size());
          uint32_t list = static_cast<uint32_t>(upper_bound(of.starts.data(), 0, of.count(), posting) - 1);
          bool had = false;
          for (uint64_t other = first; other < batch.terms.size(); other++) had |= batch.terms[other].list == list;
          if (had) continue;
          batch.order.push_back(static_cast<uint32_t>(batch.terms.size()));
          batch.terms.push_back({list, TOKAPI_MUST, 1.0});
        }
        std::sort(batch.order.begin() + first, batch.order.end(), [&](uint32_t a, uint32_t b) {
          return of.count(batch.terms[a].list) < of.count(batch.terms[b].list);
        });
        batch.queries.push_back({first, count, count, 0});
      }
      batch.batch = batch.up.bring_up(queue, *of.lists, {QUERIES, batch.queries.data(), batch.terms.size(),
                                                         batch.terms.data(), batch.order.data()});
      elements += batch.up.elements();
    }
    for (uint32_t list = 0; list < of.count(); list++) {
      uint32_t count = of.count(list);
      if (count < of.documents_count / 1000) continue;
      long_postings += count;
      for (uint32_t first = 0; first < count; first += SECTION_POSTINGS) {
        sections_here.push_back({list, first, std::min(count - first, SECTION_POSTINGS)});
      }
    }
    upload(queue, sections.reserve(sections_here.size()), sections_here.data(), sections_here.size() * sizeof(Section));
    queue.wait();
  }

  // As Intersecting::by_para begins: marks the matching elements, and counts those of each query.
  template <class Format>
  void mark_and_count(const Format& format, Queries& queries) {
    const Batch batch = queries.batch;
    uint64_t count = queries.up.elements(), word_count = (count + 31) / 32;
    uint32_t *tile = tiles.reserve(count / TILE + 2), *word = words.reserve(word_count);
    find_tiles(queue, batch.offsets, QUERIES, count, tile);
    mark(queue, count, [=] TOKAPI_LAMBDA(uint64_t i) {
      uint64_t number = segment_of(batch.offsets, tile, i);
      const tokapi_query& query = batch.queries[number];
      const uint32_t* order = batch.order + query.first_term;
      uint32_t place = static_cast<uint32_t>(i) - batch.offsets[number];
      uint32_t document = format.document(batch.terms[order[0]].list, place);
      for (uint32_t other = 1; other < query.must; other++) {
        if (format.find(batch.terms[order[other]].list, document) == NOWHERE) return false;
      }
      return true;
    }, word);
    uint32_t *rank = ranks.reserve(word_count + 1), *starts = queries.starts.reserve(QUERIES + 1);
    scan(queue, word_count, [=] TOKAPI_LAMBDA(uint64_t i) { return count_ones(word[i]); }, rank);
    for_each(queue, QUERIES + 1, [=] TOKAPI_LAMBDA(uint64_t number) {
      uint32_t first = batch.offsets[number];
      uint32_t before = first % 32 ? word[first / 32] & ((uint32_t(1) << first % 32) - 1) : 0;
      starts[number] = rank[first / 32] + count_ones(before);
    });
  }

  TOKAPI_FN static uint64_t checksum_of(uint64_t query, uint32_t document) { return mixed((query << 32) | document); }

  // What tells the answers to a batch that has just been marked.
  template <class Format>
  uint64_t checksum(const Format& format, Queries& queries) {
    const Batch batch = queries.batch;
    uint64_t word_count = (queries.up.elements() + 31) / 32, sum = 0;
    const uint32_t *tile = tiles.data(), *word = words.data();
    uint64_t* to = checksums.reserve(word_count + 1);
    scan(queue, word_count, [=] TOKAPI_LAMBDA(uint64_t at) {
      uint64_t of_word = 0;
      for (uint32_t left = word[at]; left; left &= left - 1) {
        uint64_t i = at * 32 + lowest_one(left), number = segment_of(batch.offsets, tile, i);
        uint32_t list = batch.terms[batch.order[batch.queries[number].first_term]].list;
        uint32_t place = static_cast<uint32_t>(i) - batch.offsets[number];
        of_word += checksum_of(number, format.document(list, place));
      }
      return of_word;
    }, to);
    download(queue, &sum, to + word_count, sizeof sum);
    queue.wait();
    return sum;
  }

  // Goes through all long lists.
  template <class Format>
  void go_through(const Format& format) {
    const Section* section = sections.data();
    uint64_t threads = sections_here.size() * SECTION_THREADS;
    uint32_t* to = sums.reserve(threads);
    for_each(queue, threads, [=] TOKAPI_LAMBDA(uint64_t i) {
      const Section here = section[i / SECTION_THREADS];
      uint32_t sum = 0;
      for (uint32_t place = i % SECTION_THREADS; place < here.count; place += SECTION_THREADS) {
        sum += format.document(here.list, here.first + place);
      }
      to[i] = sum;
    });
  }

  // The seconds of the fastest of some turns.
  template <class F>
  double fastest(F function) {
    double best = 1e9;
    for (uint32_t time = 0; time < TIMES; time++) {
      auto begin = std::chrono::steady_clock::now();
      function();
      queue.wait();
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return best;
  }

  // Checks and times one format, and prints a row.
  template <class Format>
  void measure(const char* name, const Format& format, uint64_t bytes) {
    std::vector<uint64_t> answers;
    for (Queries& queries : batches) {
      mark_and_count(format, queries);
      answers.push_back(checksum(format, queries));
      const uint32_t* starts = queries.starts.data();
      answers.insert(answers.end(), starts, starts + QUERIES + 1);
    }
    go_through(format);
    std::vector<uint32_t> sums_here(sections_here.size() * SECTION_THREADS);
    download(queue, sums_here.data(), sums.data(), sums_here.size() * sizeof(uint32_t));
    queue.wait();
    uint64_t sum = 0;
    for (uint64_t i = 0; i < sums_here.size(); i++) sum += mixed(i) * sums_here[i];
    if (first_answers.empty()) {
      first_answers = answers;
      first_sum = sum;
      check_with_cpu();
    }
    if (answers != first_answers) throw Failure(TOKAPI_DEVICE_FAILED, std::string(name) + ": other matches");
    if (sum != first_sum) throw Failure(TOKAPI_DEVICE_FAILED, std::string(name) + ": other documents");
    double marking = fastest([&] {
      for (Queries& queries : batches) mark_and_count(format, queries);
    });
    double going = fastest([&] { go_through(format); });
    double each = static_cast<double>(bytes) / static_cast<double>(of.documents.size());
    double mega = 1.0 * QUERIES * BATCHES / marking / 1e6;
    std::printf("%-42s %9.3f %8.3f %12.3f %8.2f %12.1f\n", name, each, mega, mega / each,
                static_cast<double>(elements) / marking / 1e9, static_cast<double>(long_postings) / going / 1e9);
    std::fflush(stdout);
  }

  // The first batch by PARA as it is, and some of its queries by merging lists.
  void check_with_cpu() {
    Queries& queries = batches[0];
    Intersecting intersecting;
    tokapi_matches matches;
    intersecting.by_para(queue, queries.batch, QUERIES, queries.up.elements(), matches);
    queue.wait();
    uint64_t sum = 0;
    for (uint64_t number = 0; number < QUERIES; number++) {
      const uint32_t* found = matches.documents + matches.starts[number];
      for (uint32_t i = 0; i < matches.counts[number]; i++) sum += checksum_of(number, found[i]);
      if (number >= CHECKED) continue;
      std::vector<uint32_t> left, both;
      for (uint32_t place = 0; place < queries.queries[number].terms; place++) {
        uint32_t list = queries.terms[queries.order[queries.queries[number].first_term + place]].list;
        auto begin = of.documents.begin() + static_cast<int64_t>(of.starts[list]), end = begin + of.count(list);
        both.clear();
        if (place == 0) both.assign(begin, end);
        std::set_intersection(left.begin(), left.end(), begin, end, std::back_inserter(both));
        left.swap(both);
      }
      if (left.size() != matches.counts[number] || !std::equal(left.begin(), left.end(), found)) {
        throw Failure(TOKAPI_DEVICE_FAILED, "other matches than by merging");
      }
    }
    if (sum != first_answers[0]) throw Failure(TOKAPI_DEVICE_FAILED, "other matches than by PARA as it is");
  }
};

// One setting, all formats.
void compare(uint32_t documents, double share, bool clustered) {
  Queue queue;
  Collection of(queue, documents, share, clustered);
  Measuring measuring(queue, of);
  uint64_t postings = of.documents.size(), entries = 0;
  uint32_t longest = 0;
  for (uint32_t number = 0; number < of.count(); number++) {
    const List& list = of.lists->list(number);
    longest = std::max(longest, list.count);
    if (list.shift != NO_TABLE) entries += DeviceLists::entries(documents, list.shift);
  }
  std::printf("\n%s documents: %u, in %llu lists of up to %.1f%% of them, %llu postings, %llu of them in long lists; "
              "%llu elements a batch\n",
              clustered ? "clustered" : "uniform", documents, static_cast<unsigned long long>(of.count()),
              100.0 * longest / documents, static_cast<unsigned long long>(postings),
              static_cast<unsigned long long>(measuring.long_postings),
              static_cast<unsigned long long>(measuring.elements / BATCHES));
  std::printf("%-42s %9s %8s %12s %8s %12s\n", "format", "B/posting", "M q/s", "M q/s per B", "G el/s", "G postings/s");

  uint64_t plain_bytes = (postings + entries) * sizeof(uint32_t) + of.count() * sizeof(List);
  measuring.measure("plain, stretches of 8 (today)", Plain{of.lists->view()}, plain_bytes);
  auto measure_blocks = [&](const char* name, uint64_t stretch) {
    Packing packing(queue, *of.lists, documents);
    Blocks blocks = packing.in_blocks(stretch);
    measuring.measure(name, blocks, packing.bytes);
  };
  auto measure_low_bits = [&](const char* name, uint64_t stretch, auto whole) {
    Packing packing(queue, *of.lists, documents);
    auto low_bits = packing.in_low_bits<decltype(whole)::value>(stretch);
    measuring.measure(name, low_bits, packing.bytes);
  };
  measure_blocks("blocks of 128, stretches of 8", 8);
  measure_blocks("blocks of 128, stretches of 128", 128);
  measure_blocks("blocks of 128, searched by their bases", NO_TABLES);
  measure_low_bits("16 bits, chunks of 65,536", CHUNKS, std::true_type());
  measure_low_bits("low bits in whole bytes, stretches of 8", 8, std::true_type());
  measure_low_bits("low bits in whole bytes, stretches of 32", 32, std::true_type());
  measure_low_bits("low bits, stretches of 8", 8, std::false_type());
  measure_low_bits("low bits, stretches of 32", 32, std::false_type());
}

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi

int main(int count, char** arguments) {
  using namespace tokapi::TOKAPI_BACKEND;
  unsigned long documents = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 10000000;
  if (documents < 5000 || documents > 16000000) {
    std::fprintf(stderr, "lists: 5000 to 16000000 documents, not %lu\n", documents);
    return 1;
  }
  try {
    use_device(0);
#ifdef __CUDACC__
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, 0), "asking for a device's properties");
    std::printf("%s\n", properties.name);
#endif
    std::printf("%u batches of %u queries, AND of 2 to 4 terms; the fastest of %u times\n", BATCHES, QUERIES, TIMES);
    for (bool clustered : {false, true}) {
      for (double share : {0.02, 0.2}) compare(static_cast<uint32_t>(documents), share, clustered);
    }
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "lists: %s\n", failure.what());
    return 1;
  }
  return 0;
}
