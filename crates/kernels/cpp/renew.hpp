// The lists of an index in its next state: those of the state before, without the documents that have gone and with
// new numbers for the others, and with the postings of added documents. Only the latter come from the host.
#pragma once

#include <memory>

#include "lists.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {

// Which postings of the lists before stay.
struct Staying {
  const uint32_t* words;
  // How many stay before each word.
  const uint64_t* ranks;

  TOKAPI_FN bool stays(uint64_t at) const { return words[at / 32] >> at % 32 & 1; }
  TOKAPI_FN uint64_t rank(uint64_t at) const {
    uint32_t before = at % 32 ? words[at / 32] & ((uint32_t(1) << at % 32) - 1) : 0;
    return ranks[at / 32] + count_ones(before);
  }
};

// A posting's document, as its list has it once the state is the next.
struct Renumbered {
  const uint32_t* documents;
  const uint32_t* numbers;

  TOKAPI_FN uint32_t operator[](uint64_t at) const { return numbers ? numbers[documents[at]] : documents[at]; }

  // The first of the postings from `from` on, and below `to`, whose document is not before `document`.
  TOKAPI_FN uint64_t first_not_before(uint64_t from, uint64_t to, uint32_t document) const {
    while (from < to) {
      uint64_t middle = from + (to - from) / 2;
      if ((*this)[middle] < document) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from;
  }
};

class Renewing {
 public:
  Renewing(const DeviceLists& before, const DeviceLists& added, const tokapi_renewal& renewal)
      : before_(before), added_(added), renewal_(renewal) {}

  std::unique_ptr<DeviceLists> run() {
    keep(numbers_, renewal_.numbers, renewal_.documents_before);
    keep(added_lists_, renewal_.added_lists, added_.count());
    mark_staying();
    std::vector<uint64_t> starts = lay_out();
    std::unique_ptr<DeviceLists> made(new DeviceLists({before_.device(), starts[renewal_.lists]}));
    // If numbers are not what they should be, no place is left with what was there before.
    fill(queue_, made->documents(), 0, made->postings() * sizeof(uint32_t));
    fill(queue_, made->frequencies(), 0, made->postings());
    move(*made);
    add(*made);
    std::vector<std::pair<uint64_t, uint32_t>> large = large_ones();
    std::vector<uint64_t> places;
    std::vector<uint32_t> frequencies;
    for (const auto& one : large) {
      places.push_back(one.first);
      frequencies.push_back(one.second);
    }
    made->finish({renewal_.lists, starts.data(), renewal_.documents, renewal_.lengths, places.data(),
                  frequencies.data(), places.size()});
    return made;
  }

  // The steps of the above. Public because functions with kernels in them must be.

  template <class T>
  void keep(Whole<T>& to, const T* from, uint64_t count) {
    upload(queue_, to.reserve(count), from, count * sizeof(T));
  }

  void mark_staying() {
    uint64_t postings = before_.postings(), word_count = (postings + 31) / 32;
    keep(stays_, renewal_.stays, (uint64_t(renewal_.documents_before) + 31) / 32);
    const uint32_t *documents = before_.documents(), *stays = stays_.data();
    uint32_t* words = words_.reserve(word_count);
    mark(queue_, postings, [=] TOKAPI_LAMBDA(uint64_t at) {
      return (stays[documents[at] / 32] >> documents[at] % 32 & 1) != 0;
    }, words);
    uint64_t* ranks = ranks_.reserve(word_count + 1);
    scan(queue_, word_count, [=] TOKAPI_LAMBDA(uint64_t word) { return count_ones(words[word]); }, ranks);
    staying_ = Staying{words, ranks};
  }

  // Where every new list begins, and where all end; also which list is added to each.
  std::vector<uint64_t> lay_out() {
    uint64_t lists_before = before_.count();
    std::vector<uint32_t> counts(renewal_.lists), added_to(renewal_.lists, NO_LIST);
    uint32_t* left = left_.reserve(lists_before);
    const List* lists = before_.all().there;
    Staying staying = staying_;
    for_each(queue_, lists_before, [=] TOKAPI_LAMBDA(uint64_t list) {
      uint64_t from = lists[list].start, to = from + lists[list].count;
      left[list] = static_cast<uint32_t>(staying.rank(to) - staying.rank(from));
    });
    download(queue_, counts.data(), left, lists_before * sizeof(uint32_t));
    queue_.wait();
    for (uint64_t i = 0; i < added_.count(); i++) {
      uint32_t list = renewal_.added_lists[i];
      counts[list] += added_.list(static_cast<uint32_t>(i)).count;
      added_to[list] = static_cast<uint32_t>(i);
    }
    std::vector<uint64_t> starts(renewal_.lists + 1);
    for (uint64_t list = 0; list < renewal_.lists; list++) starts[list + 1] = starts[list] + counts[list];
    keep(starts_, starts.data(), renewal_.lists);
    keep(added_to_, added_to.data(), renewal_.lists);
    queue_.wait();
    return starts;
  }

  // The place of a posting of the lists before, which stays.
  struct PlaceOfMoved {
    Staying staying;
    Renumbered before, added;
    const List *lists, *added_lists;
    const uint32_t* added_to;
    const uint64_t* starts;

    TOKAPI_FN uint64_t operator()(uint64_t list, uint64_t at) const {
      uint64_t place = starts[list] + staying.rank(at) - staying.rank(lists[list].start);
      if (added_to[list] == NO_LIST) return place;
      const List& other = added_lists[added_to[list]];
      return place + added.first_not_before(other.start, other.start + other.count, before[at]) - other.start;
    }
  };

  // The place of an added posting.
  struct PlaceOfAdded {
    Staying staying;
    Renumbered before, added;
    const List *lists, *added_lists;
    const uint32_t* list_numbers;
    const uint64_t* starts;
    uint64_t lists_before;

    TOKAPI_FN uint64_t operator()(uint64_t i, uint64_t at) const {
      uint64_t list = list_numbers[i], place = starts[list] + at - added_lists[i].start;
      if (list >= lists_before) return place;
      uint64_t from = lists[list].start, to = from + lists[list].count;
      return place + staying.rank(before.first_not_before(from, to, added[at])) - staying.rank(from);
    }
  };

  PlaceOfMoved place_of_moved() const {
    return PlaceOfMoved{staying_,          numbered_before(),  numbered_added(), before_.all().there,
                        added_.all().there, added_to_.data(), starts_.data()};
  }
  PlaceOfAdded place_of_added() const {
    return PlaceOfAdded{staying_,          numbered_before(),    numbered_added(), before_.all().there,
                        added_.all().there, added_lists_.data(), starts_.data(),   before_.count()};
  }
  Renumbered numbered_before() const { return Renumbered{before_.documents(), numbers_.data()}; }
  Renumbered numbered_added() const { return Renumbered{added_.documents(), nullptr}; }

  void move(DeviceLists& made) {
    PlaceOfMoved place_of = place_of_moved();
    const uint8_t* frequencies = before_.frequencies();
    uint32_t* documents_made = made.documents();
    uint8_t* frequencies_made = made.frequencies();
    each_posting_(queue_, before_.all(), [=] TOKAPI_LAMBDA(uint64_t list, uint64_t, uint64_t at) {
      if (!place_of.staying.stays(at)) return;
      uint64_t place = place_of(list, at);
      documents_made[place] = place_of.before[at];
      frequencies_made[place] = frequencies[at];
    });
  }

  void add(DeviceLists& made) {
    PlaceOfAdded place_of = place_of_added();
    const uint8_t* frequencies = added_.frequencies();
    uint32_t* documents_made = made.documents();
    uint8_t* frequencies_made = made.frequencies();
    each_posting_(queue_, added_.all(), [=] TOKAPI_LAMBDA(uint64_t list, uint64_t, uint64_t at) {
      uint64_t place = place_of(list, at);
      documents_made[place] = place_of.added[at];
      frequencies_made[place] = frequencies[at];
    });
  }

  // The places and frequencies of all postings whose frequencies are larger than a byte has, ascending.
  std::vector<std::pair<uint64_t, uint32_t>> large_ones() {
    uint64_t moved = before_.large_count(), all = moved + added_.large_count();
    uint64_t* places = large_places_.reserve(all);
    uint32_t* frequencies = large_frequencies_.reserve(all);
    PlaceOfMoved place_of_moved = this->place_of_moved();
    PlaceOfAdded place_of_added = this->place_of_added();
    const uint64_t *places_before = before_.large_places(), *places_added = added_.large_places();
    uint64_t lists_before = before_.count(), lists_added = added_.count();
    for_each(queue_, moved, [=] TOKAPI_LAMBDA(uint64_t i) {
      uint64_t at = places_before[i];
      places[i] = NOWHERE;
      if (place_of_moved.staying.stays(at)) {
        places[i] = place_of_moved(list_of(place_of_moved.lists, lists_before, at), at);
      }
    });
    for_each(queue_, all - moved, [=] TOKAPI_LAMBDA(uint64_t i) {
      uint64_t at = places_added[i];
      places[moved + i] = place_of_added(list_of(place_of_added.added_lists, lists_added, at), at);
    });
    copy(queue_, frequencies, before_.large_frequencies(), moved * sizeof(uint32_t));
    copy(queue_, frequencies + moved, added_.large_frequencies(), (all - moved) * sizeof(uint32_t));
    std::vector<uint64_t> places_here(all);
    std::vector<uint32_t> frequencies_here(all);
    download(queue_, places_here.data(), places, all * sizeof(uint64_t));
    download(queue_, frequencies_here.data(), frequencies, all * sizeof(uint32_t));
    queue_.wait();
    std::vector<std::pair<uint64_t, uint32_t>> large;
    for (uint64_t i = 0; i < all; i++) {
      if (places_here[i] != NOWHERE) large.emplace_back(places_here[i], frequencies_here[i]);
    }
    std::sort(large.begin(), large.end());
    return large;
  }

  // The list that has the posting at a place among all. Lists may be empty.
  TOKAPI_FN static uint64_t list_of(const List* lists, uint64_t count, uint64_t at) {
    uint64_t low = 0, high = count;
    while (low < high) {
      uint64_t middle = low + (high - low) / 2;
      if (lists[middle].start <= at) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low - 1;
  }

 private:
  static constexpr uint32_t NO_LIST = ~uint32_t(0);

  const DeviceLists &before_, &added_;
  const tokapi_renewal& renewal_;
  Queue queue_;
  EachPosting each_posting_;
  Staying staying_{};
  Whole<uint32_t> numbers_, stays_, words_, left_, added_lists_, added_to_, large_frequencies_;
  Whole<uint64_t> ranks_, starts_, large_places_;
};

}  // namespace TOKAPI_BACKEND
}  // namespace tokapi
