// The boundary between Rust and the kernels: plain C. Every function that can fail returns a
// status and, unless that is TOKAPI_OK, leaves one line of text. `kernels/src/boundary.rs` mirrors
// these declarations; change both together.
#ifndef TOKAPI_BOUNDARY_H
#define TOKAPI_BOUNDARY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tokapi_status {
  TOKAPI_OK = 0,
  TOKAPI_NO_DEVICE = 1,
  TOKAPI_OUT_OF_MEMORY = 2,
  TOKAPI_DEVICE_FAILED = 3,
  TOKAPI_TOO_LARGE = 4
} tokapi_status;

typedef struct tokapi_error {
  char text[512];
} tokapi_error;

typedef struct tokapi_device {
  char name[256];
  uint64_t memory_bytes;
  uint64_t free_bytes;
  uint32_t major;
  uint32_t minor;
  uint32_t multiprocessors;
  uint32_t driver;
  uint32_t runtime;
} tokapi_device;

// Gigabytes a second; `both` counts both ways when they go at once.
typedef struct tokapi_bandwidth {
  double up;
  double down;
  double both;
} tokapi_bandwidth;

typedef enum tokapi_method { TOKAPI_HASH = 0, TOKAPI_PP = 1, TOKAPI_PPD = 2, TOKAPI_MARS = 3 } tokapi_method;

typedef enum tokapi_algorithm { TOKAPI_RADIX = 0, TOKAPI_MERGE = 1, TOKAPI_BITONIC = 2 } tokapi_algorithm;

// The arrays of a dictionary: those of `tokapi_weigh::dictionary::Arrays`. `nodes` and `leaves` are best aligned to 32
// bytes, the size of their blocks.
typedef struct tokapi_dictionary {
  const uint64_t* nodes;
  const uint64_t* labels;
  const uint64_t* leaves;
  const uint8_t* tails;
  const uint32_t* shortcuts;
  const uint8_t* codes;
  uint64_t node_count;
  uint64_t shortcut_depth;
  uint64_t alphabet_size;
} tokapi_dictionary;

// A dictionary in host memory, with the lengths of its arrays.
typedef struct tokapi_trie {
  tokapi_dictionary arrays;
  uint64_t node_words;
  uint64_t label_words;
  uint64_t leaf_words;
  uint64_t tail_bytes;
  uint64_t shortcut_count;
  uint64_t code_count;
  uint64_t terms;
} tokapi_trie;

// How text becomes postings.
typedef struct tokapi_options {
  uint32_t device;
  uint32_t method;
  // Whether terms outside of the dictionary share one id.
  uint32_t unknown_one;
  // Whether ASCII letters are lower-cased.
  uint32_t fold;
  // Bit b: whether the ASCII character b belongs to terms.
  uint32_t ascii[4];
  // Bit c: whether the character c belongs to terms, for all of Unicode; null where all beyond
  // ASCII do.
  const uint32_t* beyond_ascii;
  // Bits in which hashes may differ: all, but in tests.
  uint64_t hash_mask;
  // The number of the first call that fails, with all after it, as if the device was lost; 0 for
  // none: for tests.
  uint64_t fail_after;
  // Whether to wait after every stage, so that its time can be told.
  uint32_t timed;
  // How TOKAPI_MARS sorts pairs.
  uint32_t sort;
} tokapi_options;

// Text with its documents: document d begins at starts[d], and separators stand between.
typedef struct tokapi_text {
  const uint8_t* bytes;
  uint64_t length;
  const uint64_t* starts;
  uint64_t documents;
} tokapi_text;

// An inverted chunk, terms ascending by bytes. Valid until the next call.
typedef struct tokapi_inverted {
  uint64_t terms;
  uint64_t postings;
  const uint8_t* term_bytes;
  const uint64_t* term_offsets;
  const uint32_t* offsets;
  const uint32_t* documents;
  // 255 for those that are larger still, which follow with their places.
  const uint8_t* frequencies;
  const uint32_t* large_places;
  const uint32_t* large_frequencies;
  uint64_t large_count;
  const uint32_t* lengths;
} tokapi_inverted;

// What the local pass over a collection found.
typedef struct tokapi_collected {
  uint64_t total_length;
  uint64_t parts;
  // Every df that occurs, ascending: at most the square root of twice the postings.
  const uint32_t* df_values;
  uint64_t df_count;
} tokapi_collected;

typedef enum tokapi_tf_part {
  TOKAPI_SATURATED = 0,
  TOKAPI_SCALED = 1,
  TOKAPI_BM25L = 2,
  TOKAPI_BM25PLUS = 3,
  TOKAPI_PLAIN_TF = 4
} tokapi_tf_part;

typedef struct tokapi_formula {
  uint32_t tf_part;
  double k1;
  double b;
  double delta;
  double avdl;
  // The idf for each of tokapi_collected.df_values, or for each list.
  const double* idf;
} tokapi_formula;

// The terms of a collection by id; `order` has the ids ascending by the terms' bytes.
typedef struct tokapi_lexicon {
  uint64_t terms;
  const uint8_t* term_bytes;
  const uint64_t* term_offsets;
  const uint32_t* df;
  const uint32_t* order;
  const uint32_t* lengths;
} tokapi_lexicon;

// Other values of idf for some lists, which are distinct.
typedef struct tokapi_some_idf {
  const uint32_t* lists;
  const double* idf;
  uint64_t count;
} tokapi_some_idf;

// The weighed postings of one chunk: those of term segment_terms[s] begin at segment_starts[s].
typedef struct tokapi_part {
  uint64_t postings;
  uint64_t segments;
  const uint32_t* segment_terms;
  const uint32_t* segment_starts;
  const uint32_t* documents;
  const float* weights;
} tokapi_part;

// Milliseconds of every stage; only where options.timed is set.
typedef struct tokapi_times {
  double upload, cut, documents, map, identify, order, sort, group, tf, df, weigh, download;
} tokapi_times;

// What is sorted: keys, or keys each with a value after it, by their keys.
typedef enum tokapi_record {
  TOKAPI_KEYS32 = 0,
  TOKAPI_KEYS64 = 1,
  TOKAPI_PAIRS32 = 2,
  TOKAPI_PAIRS64 = 3
} tokapi_record;

typedef struct tokapi_sorter_options {
  uint32_t device;
  // Whether to wait after every stage, so that its time can be told.
  uint32_t timed;
  // Device memory to use at most, of what is free.
  uint64_t memory_bytes;
  // Pieces are no smaller, where there is more than one.
  uint64_t piece_bytes;
  // As in tokapi_options.
  uint64_t fail_after;
} tokapi_sorter_options;

// Records to be sorted where they are.
typedef struct tokapi_sorting {
  uint32_t record;
  uint32_t algorithm;
  // Whether they lie in memory from `pinned`; other memory is copied through such.
  uint32_t pinned;
  void* records;
  uint64_t count;
} tokapi_sorting;

// Milliseconds of every stage; only where sorter_options.timed is set.
typedef struct tokapi_sort_times {
  double upload, sort, merge, download;
} tokapi_sort_times;

// What a record is mapped to; see functors.hpp.
typedef enum tokapi_map {
  TOKAPI_MAP_TERMS = 0,
  TOKAPI_MAP_WHOLE = 1,
  TOKAPI_MAP_LENGTHS = 2,
  TOKAPI_MAP_COOCCURRENCES = 3,
  TOKAPI_MAP_EDGES = 4,
  TOKAPI_MAP_FIRST_FIELD = 5,
  TOKAPI_MAP_POSTINGS = 6,
  TOKAPI_MAP_BANDS = 7,
  TOKAPI_MAP_RANKS = 8,
  TOKAPI_MAP_WORDS = 9
} tokapi_map;

// What the values of a key are reduced to.
typedef enum tokapi_reduce {
  TOKAPI_REDUCE_NOTHING = 0,
  TOKAPI_REDUCE_COUNT = 1,
  TOKAPI_REDUCE_SUM = 2,
  TOKAPI_REDUCE_RUNS = 3,
  TOKAPI_REDUCE_FIRST = 4
} tokapi_reduce;

typedef struct tokapi_mapper_options {
  uint32_t device;
  // Whether to wait after every stage, so that its time can be told.
  uint32_t timed;
  // Device memory for pairs.
  uint64_t memory_bytes;
  // As in tokapi_options.
  uint64_t fail_after;
} tokapi_mapper_options;

// A chunk: record r is bytes[starts[r]] up to bytes[starts[r + 1]].
typedef struct tokapi_records {
  uint32_t map;
  uint32_t reduce;
  uint32_t sort;
  const uint8_t* bytes;
  uint64_t length;
  const uint32_t* starts;
  uint64_t count;
} tokapi_records;

// The groups of a chunk in the order of their keys, in memory of the mapper, until its next call.
typedef struct tokapi_groups {
  // Pairs that were emitted.
  uint64_t pairs;
  uint64_t groups;
  uint64_t values;
  // Two words a group: the key, or the first 8 bytes of a text and where it is, as in slices.hpp.
  const uint64_t* keys;
  // Where the values of a group begin; there is one more.
  const uint32_t* value_starts;
  const uint64_t* value_list;
  // So many words about every record.
  const uint64_t* notes;
  uint64_t note_words;
  // Records that are left to the host, ascending.
  const uint32_t* left;
  uint64_t left_count;
} tokapi_groups;

// Milliseconds of every stage; only where mapper_options.timed is set.
typedef struct tokapi_mapper_times {
  double upload, count, emit, sort, group, reduce, download;
} tokapi_mapper_times;

typedef struct tokapi_lists_options {
  uint32_t device;
  // The number of all postings.
  uint64_t postings;
} tokapi_lists_options;

// Where postings are written, in the order of lists and of documents, before they are copied to the device.
typedef struct tokapi_room {
  uint32_t* documents;
  // 255 for those that are as large or larger still.
  uint8_t* frequencies;
  uint64_t count;
} tokapi_room;

// Which postings are whose: list l begins with posting starts[l], the last ends with all.
typedef struct tokapi_lists {
  uint64_t count;
  const uint64_t* starts;
  uint32_t documents;
  const uint32_t* lengths;
  // The postings whose frequencies are 255 or larger, ascending, and these.
  const uint64_t* large_places;
  const uint32_t* large_frequencies;
  uint64_t large_count;
} tokapi_lists;

// What becomes of lists in the next state of an index, and of their documents.
typedef struct tokapi_renewal {
  uint32_t documents_before;
  // The number of every document before: those that stay ascend, and one that goes is not out of their order.
  const uint32_t* numbers;
  // A bit for every document before that stays.
  const uint32_t* stays;
  // The number of every added list, which are distinct. The lists before keep theirs.
  const uint32_t* added_lists;
  uint64_t lists;
  uint32_t documents;
  const uint32_t* lengths;
} tokapi_renewal;

typedef enum tokapi_occur { TOKAPI_MUST = 0, TOKAPI_SHOULD = 1, TOKAPI_NOT = 2 } tokapi_occur;

typedef struct tokapi_term {
  uint32_t list;
  uint32_t occur;
  // How often the query has it.
  double times;
} tokapi_term;

typedef struct tokapi_query {
  uint32_t first_term;
  uint32_t terms;
  // How many of its terms must occur, and how many must not.
  uint32_t must;
  uint32_t forbidden;
} tokapi_query;

// Queries. `order` has the terms of every query, from its first_term on: those that must occur, those that may,
// and those that must not, each the shortest list first. All have one of the first two kinds.
typedef struct tokapi_batch {
  uint64_t queries;
  const tokapi_query* query_list;
  uint64_t terms;
  const tokapi_term* term_list;
  const uint32_t* order;
} tokapi_batch;

typedef enum tokapi_scheme { TOKAPI_PARA = 0, TOKAPI_PART = 1 } tokapi_scheme;

// The documents of query q from documents[starts[q]] on, ascending. Valid until the lane's next call.
typedef struct tokapi_matches {
  const uint32_t* starts;
  const uint32_t* counts;
  const uint32_t* documents;
  // How many came down, with those in gaps.
  uint64_t copied;
} tokapi_matches;

// The best of query q: counts[q] from keys[q * k] on, the best first. The lower half of a key is the document,
// the upper the score: its bits, flipped where it is less than 0, but for the first bit otherwise, and all
// of them again. Valid until the lane's next call.
typedef struct tokapi_ranked {
  const uint64_t* keys;
  const uint32_t* counts;
} tokapi_ranked;

typedef struct tokapi_inverter tokapi_inverter;
typedef struct tokapi_sorter tokapi_sorter;
typedef struct tokapi_device_lists tokapi_device_lists;
typedef struct tokapi_loader tokapi_loader;
typedef struct tokapi_lane tokapi_lane;
typedef struct tokapi_mapper tokapi_mapper;

typedef struct tokapi_api {
  // The sizes of the structures above, in their order, by which both sides see that they agree.
  uint64_t sizes[30];
  tokapi_status (*count)(uint32_t* devices, tokapi_error* error);
  tokapi_status (*describe)(uint32_t device, tokapi_device* described, tokapi_error* error);
  tokapi_status (*bandwidth)(uint32_t device, uint64_t bytes, tokapi_bandwidth* measured, tokapi_error* error);
  tokapi_status (*pinned)(uint64_t bytes, void** memory, tokapi_error* error);
  void (*unpin)(void* memory);
  // Gives up everything on the device, after a failure. Nothing of it may be in use.
  tokapi_status (*reset)(uint32_t device, tokapi_error* error);
  // `trie` may be null, unless the method is TOKAPI_PPD.
  tokapi_status (*inverter)(const tokapi_options* options, const tokapi_trie* trie, tokapi_inverter** made,
                            tokapi_error* error);
  void (*drop)(tokapi_inverter* inverter);
  // Inverts one chunk.
  tokapi_status (*invert)(tokapi_inverter* inverter, const tokapi_text* text, tokapi_inverted* inverted,
                          tokapi_error* error);
  // The local pass over a whole collection in chunks of about `chunk_bytes`; postings stay on the
  // device.
  tokapi_status (*collect)(tokapi_inverter* inverter, const tokapi_text* text, uint64_t chunk_bytes,
                           tokapi_collected* collected, tokapi_error* error);
  // The global pass after `collect`.
  tokapi_status (*weigh)(tokapi_inverter* inverter, const tokapi_formula* formula, tokapi_lexicon* lexicon,
                         tokapi_error* error);
  tokapi_status (*part)(tokapi_inverter* inverter, uint64_t number, tokapi_part* part, tokapi_error* error);
  void (*times)(tokapi_inverter* inverter, tokapi_times* times);
  // Looks up every term of a text in the dictionary: ids in text order, 2^32 - 1 where unknown.
  tokapi_status (*lookup)(tokapi_inverter* inverter, const tokapi_text* text, uint32_t repeat, const uint32_t** ids,
                          uint64_t* count, double* seconds, tokapi_error* error);
  // Device memory that inverting a chunk of so many bytes of text takes at most.
  uint64_t (*peak_bytes)(uint64_t text_bytes, uint32_t method);
  tokapi_status (*sorter)(const tokapi_sorter_options* options, tokapi_sorter** made, tokapi_error* error);
  void (*drop_sorter)(tokapi_sorter* sorter);
  // Sorts stably. After a failure the records may be lost.
  tokapi_status (*sort)(tokapi_sorter* sorter, const tokapi_sorting* sorting, tokapi_error* error);
  // The most records that the memory which the sorter may use is enough for.
  uint64_t (*most_records)(tokapi_sorter* sorter, uint32_t record, uint32_t algorithm);
  void (*sort_times)(tokapi_sorter* sorter, tokapi_sort_times* times);
  // Lists are made, filled by loaders, finished and weighed, and then asked.
  tokapi_status (*lists)(const tokapi_lists_options* options, tokapi_device_lists** made, tokapi_error* error);
  void (*drop_lists)(tokapi_device_lists* lists);
  // Loaders are dropped before their lists. Each has room for so many postings at a time.
  tokapi_status (*loader)(tokapi_device_lists* lists, uint64_t postings, tokapi_loader** made, tokapi_error* error);
  void (*drop_loader)(tokapi_loader* loader);
  // Waits until there is room.
  tokapi_status (*room)(tokapi_loader* loader, tokapi_room* room, tokapi_error* error);
  // Copies the first `count` postings in the room of the last call to their places.
  tokapi_status (*load)(tokapi_loader* loader, uint64_t place, uint64_t count, tokapi_error* error);
  tokapi_status (*finish_loading)(tokapi_loader* loader, tokapi_error* error);
  // Of lists that are added to others: documents and lengths are not read.
  tokapi_status (*describe_lists)(tokapi_device_lists* lists, const tokapi_lists* described, tokapi_error* error);
  tokapi_status (*finish_lists)(tokapi_device_lists* lists, const tokapi_lists* described, tokapi_error* error);
  tokapi_status (*weigh_lists)(tokapi_device_lists* lists, const tokapi_formula* formula, tokapi_error* error);
  // After `weigh_lists`: the rest of the formula is as it was.
  tokapi_status (*weigh_some_lists)(tokapi_device_lists* lists, const tokapi_some_idf* some, tokapi_error* error);
  // Makes the lists of the next state, finished and not weighed; `added` are described.
  tokapi_status (*renew_lists)(const tokapi_device_lists* before, const tokapi_device_lists* added,
                               const tokapi_renewal* renewal, tokapi_device_lists** made, tokapi_error* error);
  void (*list_lengths)(const tokapi_device_lists* lists, uint32_t* lengths);
  // Device memory for so many postings in so many lists of so many documents, at most.
  uint64_t (*lists_bytes)(uint64_t postings, uint64_t lists, uint64_t documents);
  // A lane answers one batch at a time; several, each on a thread of its own, overlap. Calls after `fail_after`
  // fail, as in tokapi_options.
  tokapi_status (*lane)(uint32_t device, uint64_t fail_after, tokapi_lane** made, tokapi_error* error);
  void (*drop_lane)(tokapi_lane* lane);
  tokapi_status (*intersect)(tokapi_lane* lane, const tokapi_device_lists* lists, const tokapi_batch* batch,
                             uint32_t scheme, tokapi_matches* matches, tokapi_error* error);
  tokapi_status (*rank)(tokapi_lane* lane, const tokapi_device_lists* lists, const tokapi_batch* batch, uint32_t k,
                        tokapi_ranked* ranked, tokapi_error* error);
  tokapi_status (*mapper)(const tokapi_mapper_options* options, tokapi_mapper** made, tokapi_error* error);
  void (*drop_mapper)(tokapi_mapper* mapper);
  // Maps and reduces one chunk. TOKAPI_TOO_LARGE where it has more pairs than there is memory for.
  tokapi_status (*map)(tokapi_mapper* mapper, const tokapi_records* records, tokapi_groups* groups,
                       tokapi_error* error);
  void (*mapper_times)(tokapi_mapper* mapper, tokapi_mapper_times* times);
} tokapi_api;

const tokapi_api* tokapi_host_api(void);
const tokapi_api* tokapi_cuda_api(void);

#ifdef __cplusplus
}
#endif

#endif
