// The chunks of a text on their way through a device: one is uploaded while the one before it is cut into terms.
#pragma once

#include <vector>

#include "cut.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

// Chunks whose text is on the device at once: one arrives, one is cut, one is computed on.
constexpr uint64_t TEXTS = 3;

// The first and the last chunk have about so much text: its upload takes as long as to start what
// is done with it.
constexpr uint64_t LEAST_CHUNK_BYTES = uint64_t(8) << 20;

// Where a chunk lies in the text, and how far it is.
struct Chunk {
  uint64_t from = 0, documents = 0, base = 0, length = 0;
  Event uploaded, cut, free;
};

class Chunks {
 public:
  explicit Chunks(const tokapi_options& options) : classes_(options) {
    if (!options.beyond_ascii) return;
    constexpr uint64_t WORDS = 0x110000 / 32;
    upload(cutting_, beyond_ascii_.reserve(WORDS), options.beyond_ascii, WORDS * sizeof(uint32_t));
    classes_.beyond_ascii = beyond_ascii_.data();
    cutting_.wait();
  }

  Queue& uploading() { return uploading_; }
  Queue& cutting() { return cutting_; }
  Chunk& operator[](uint64_t chunk) { return chunks_[chunk % TEXTS]; }
  Cut& cut(uint64_t chunk) { return cuts_[chunk % TEXTS]; }
  // Where the documents of a chunk begin in the text.
  const uint64_t* document_starts(const Chunk& of) const { return document_starts_.data() + of.from; }

  // Where chunks end: whole documents, at most `chunk_bytes`, one larger document excepted. The
  // first chunks are ever larger, so that computing begins early, and the last ones ever smaller,
  // so that little remains to be done when all has arrived.
  static std::vector<uint64_t> ends(const tokapi_text& text, uint64_t chunk_bytes) {
    std::vector<uint64_t> ends;
    uint64_t from = 0;
    while (from < text.documents) {
      uint64_t begin = text.starts[from], left = text.length - begin;
      uint64_t wanted = chunk_bytes;
      if (left < 2 * chunk_bytes) wanted = left / 2 > LEAST_CHUNK_BYTES ? left / 2 : LEAST_CHUNK_BYTES;
      uint64_t growing = ends.size() < 32 ? LEAST_CHUNK_BYTES << ends.size() : chunk_bytes;
      if (wanted > growing) wanted = growing;
      if (wanted > chunk_bytes) wanted = chunk_bytes;
      // The last document that ends within.
      uint64_t low = from + 1, high = text.documents;
      while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        uint64_t end = middle < text.documents ? text.starts[middle] : text.length;
        if (end - begin <= wanted) low = middle; else high = middle - 1;
      }
      ends.push_back(low);
      from = low;
    }
    return ends;
  }

  void upload_documents(const tokapi_text& text) {
    upload(uploading_, document_starts_.reserve(text.documents), text.starts, text.documents * sizeof(uint64_t));
  }

  void upload_chunk(const tokapi_text& text, uint64_t from, uint64_t to, uint64_t chunk) {
    Chunk& of = (*this)[chunk];
    of.from = from;
    of.documents = to - from;
    of.base = from < text.documents ? text.starts[from] : 0;
    uint64_t end = to < text.documents ? text.starts[to] : text.length;
    of.length = of.documents ? end - of.base : 0;
    if (of.length > 0xFFFF0000) throw Failure(TOKAPI_TOO_LARGE, "a chunk has 4 GiB of text or more");
    uint8_t* bytes = cut(chunk).text().reserve(of.length + PADDING);
    if (chunk >= TEXTS) of.free.before(uploading_);
    upload(uploading_, bytes, text.bytes + of.base, of.length);
    fill(uploading_, bytes + of.length, ' ', PADDING);
    of.uploaded.record(uploading_);
  }

  void cut_chunk(uint64_t chunk) {
    Chunk& of = (*this)[chunk];
    of.uploaded.before(cutting_);
    cut(chunk).enqueue(cutting_, classes_, of.length, document_starts(of), of.base, of.documents);
    of.cut.record(cutting_);
  }

 private:
  Classes classes_;
  Queue uploading_, cutting_;
  Buffer<uint32_t> beyond_ascii_;
  Buffer<uint64_t> document_starts_;
  Chunk chunks_[TEXTS];
  Cut cuts_[TEXTS];
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
