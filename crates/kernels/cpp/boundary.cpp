// The functions of the boundary: exceptions become a status and a text here, and only here.
#include <cstdio>
#include <new>

#include "inverter.hpp"
#include "lane.hpp"
#include "load.hpp"
#include "mapper.hpp"
#include "renew.hpp"
#include "sorter.hpp"

namespace tokapi {
namespace TOKAPI_BACKEND {
namespace {

template <class F>
tokapi_status guarded(tokapi_error* error, F function) {
  auto fail = [&](tokapi_status status, const char* what) {
    std::snprintf(error->text, sizeof error->text, "%s", what);
    return status;
  };
  try {
    function();
    return TOKAPI_OK;
  } catch (const Failure& failure) {
    return fail(failure.status, failure.what());
  } catch (const std::bad_alloc&) {
    return fail(TOKAPI_OUT_OF_MEMORY, "the host is out of memory");
  } catch (const std::exception& exception) {
    return fail(TOKAPI_DEVICE_FAILED, exception.what());
  } catch (...) {
    return fail(TOKAPI_DEVICE_FAILED, "an unknown failure");
  }
}

Inverter& inside(tokapi_inverter* inverter) { return *reinterpret_cast<Inverter*>(inverter); }
Sorter& inside(tokapi_sorter* sorter) { return *reinterpret_cast<Sorter*>(sorter); }
DeviceLists& inside(tokapi_device_lists* lists) { return *reinterpret_cast<DeviceLists*>(lists); }
const DeviceLists& inside(const tokapi_device_lists* lists) { return *reinterpret_cast<const DeviceLists*>(lists); }
Loader& inside(tokapi_loader* loader) { return *reinterpret_cast<Loader*>(loader); }
Lane& inside(tokapi_lane* lane) { return *reinterpret_cast<Lane*>(lane); }
Mapper& inside(tokapi_mapper* mapper) { return *reinterpret_cast<Mapper*>(mapper); }

// Calls function(engine) on the engine's device. Whatever goes wrong, nothing of the caller's is in
// use any more when this returns.
template <class Opaque, class F>
tokapi_status guarded(Opaque* opaque, tokapi_error* error, F function) {
  auto& engine = inside(opaque);
  tokapi_status status = guarded(error, [&] {
    use_device(engine.device());
    function(engine);
  });
  if (status != TOKAPI_OK) engine.wait_for_all();
  return status;
}

template <class Opaque>
void drop(Opaque* opaque) {
  auto* engine = &inside(opaque);
  tokapi_error ignored;
  guarded(&ignored, [&] { use_device(engine->device()); });
  delete engine;
}

#ifdef __CUDACC__

std::string version(int number) { return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10); }

void count_devices(uint32_t* count) {
  int found = 0, driver = 0;
  cudaError_t error = cudaGetDeviceCount(&found);
  if (error == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess) {
    cudaGetLastError();
    if (driver == 0) throw Failure(TOKAPI_NO_DEVICE, "there is no NVIDIA driver");
    throw Failure(TOKAPI_NO_DEVICE, "the NVIDIA driver is for CUDA " + version(driver) +
                                        ", and this program needs one for CUDA " + version(CUDART_VERSION));
  }
  check(error, "looking for a GPU");
  *count = static_cast<uint32_t>(found);
}

void describe_device(uint32_t device, tokapi_device* to) {
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver), "asking for the driver's version");
  check(cudaRuntimeGetVersion(&runtime), "asking for the runtime's version");
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, static_cast<int>(device)), "asking for a device's properties");
  std::snprintf(to->name, sizeof to->name, "%s", properties.name);
  to->memory_bytes = properties.totalGlobalMem;
  to->free_bytes = free_memory(device);
  to->major = static_cast<uint32_t>(properties.major);
  to->minor = static_cast<uint32_t>(properties.minor);
  to->multiprocessors = static_cast<uint32_t>(properties.multiProcessorCount);
  to->driver = static_cast<uint32_t>(driver);
  to->runtime = static_cast<uint32_t>(runtime);
}

void choose(uint32_t device) {
  uint32_t found = 0;
  count_devices(&found);
  if (device >= found) {
    throw Failure(TOKAPI_NO_DEVICE, "there is no device " + std::to_string(device) + ": " + std::to_string(found) +
                                        " found, counted from 0");
  }
  use_device(device);
  // What is freed stays in the pool, for the next to take.
  cudaMemPool_t pool;
  check(cudaDeviceGetDefaultMemPool(&pool, static_cast<int>(device)), "asking for the memory pool");
  uint64_t keep = ~uint64_t(0);
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep), "setting up the memory pool");
}

void reset(uint32_t device) {
  // A device that is lost says so here, too; the reset goes on from there.
  cudaSetDevice(static_cast<int>(device));
  check(cudaDeviceReset(), "resetting a device");
  cudaGetLastError();
}

#else

void count_devices(uint32_t* count) { *count = 1; }

void describe_device(uint32_t, tokapi_device* to) {
  *to = tokapi_device{};
  std::snprintf(to->name, sizeof to->name, "the host, one thread");
}

void choose(uint32_t) {}

void reset(uint32_t) {}

#endif

// Gigabytes a second of copies, one way and both ways at once.
tokapi_bandwidth measure(uint64_t bytes) {
  Queue up, down;
  Buffer<uint8_t> to, from;
  Pinned<uint8_t> up_here, down_here;
  to.reserve(bytes);
  from.reserve(bytes);
  std::memset(up_here.reserve(bytes), 1, bytes);
  std::memset(down_here.reserve(bytes), 1, bytes);
  auto seconds = [&](bool copy_up, bool copy_down) {
    double best = 1e30;
    for (int turn = 0; turn < 5; turn++) {
      auto started = std::chrono::steady_clock::now();
      if (copy_up) upload(up, to.data(), up_here.data(), bytes);
      if (copy_down) download(down, down_here.data(), from.data(), bytes);
      up.wait();
      down.wait();
      double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
      best = took < best ? took : best;
    }
    return best;
  };
  double rate = static_cast<double>(bytes) / 1e9;
  return tokapi_bandwidth{rate / seconds(true, false), rate / seconds(false, true), 2 * rate / seconds(true, true)};
}

const tokapi_api API = {
    {sizeof(tokapi_error), sizeof(tokapi_device), sizeof(tokapi_bandwidth), sizeof(tokapi_dictionary), sizeof(tokapi_trie),
     sizeof(tokapi_options), sizeof(tokapi_text), sizeof(tokapi_inverted), sizeof(tokapi_collected),
     sizeof(tokapi_formula), sizeof(tokapi_some_idf), sizeof(tokapi_lexicon), sizeof(tokapi_part), sizeof(tokapi_times),
     sizeof(tokapi_sorter_options), sizeof(tokapi_sorting), sizeof(tokapi_sort_times),
     sizeof(tokapi_lists_options), sizeof(tokapi_room), sizeof(tokapi_lists), sizeof(tokapi_renewal), sizeof(tokapi_term),
     sizeof(tokapi_query), sizeof(tokapi_batch), sizeof(tokapi_matches), sizeof(tokapi_ranked),
     sizeof(tokapi_mapper_options), sizeof(tokapi_records), sizeof(tokapi_groups), sizeof(tokapi_mapper_times)},
    [](uint32_t* devices, tokapi_error* error) { return guarded(error, [&] { count_devices(devices); }); },
    [](uint32_t device, tokapi_device* described, tokapi_error* error) {
      return guarded(error, [&] { describe_device(device, described); });
    },
    [](uint32_t device, uint64_t bytes, tokapi_bandwidth* measured, tokapi_error* error) {
      return guarded(error, [&] {
        choose(device);
        *measured = measure(bytes);
      });
    },
    [](uint64_t bytes, void** memory, tokapi_error* error) {
      return guarded(error, [&] { *memory = pinned_allocate(bytes); });
    },
    [](void* memory) { pinned_free(memory); },
    [](uint32_t device, tokapi_error* error) { return guarded(error, [&] { reset(device); }); },
    [](const tokapi_options* options, const tokapi_trie* trie, tokapi_inverter** made, tokapi_error* error) {
      return guarded(error, [&] {
        choose(options->device);
        *made = reinterpret_cast<tokapi_inverter*>(new Inverter(*options, trie));
      });
    },
    drop<tokapi_inverter>,
    [](tokapi_inverter* inverter, const tokapi_text* text, tokapi_inverted* inverted, tokapi_error* error) {
      return guarded(inverter, error, [&](Inverter& of) { of.invert(*text, *inverted); });
    },
    [](tokapi_inverter* inverter, const tokapi_text* text, uint64_t chunk_bytes, tokapi_collected* collected,
       tokapi_error* error) {
      return guarded(inverter, error, [&](Inverter& of) { of.collect(*text, chunk_bytes, *collected); });
    },
    [](tokapi_inverter* inverter, const tokapi_formula* formula, tokapi_lexicon* lexicon, tokapi_error* error) {
      return guarded(inverter, error, [&](Inverter& of) { of.weigh(*formula, *lexicon); });
    },
    [](tokapi_inverter* inverter, uint64_t number, tokapi_part* part, tokapi_error* error) {
      return guarded(inverter, error, [&](Inverter& of) { of.part(number, *part); });
    },
    [](tokapi_inverter* inverter, tokapi_times* times) {
      *times = inside(inverter).times();
    },
    [](tokapi_inverter* inverter, const tokapi_text* text, uint32_t repeat, const uint32_t** ids, uint64_t* count,
       double* seconds, tokapi_error* error) {
      return guarded(inverter, error, [&](Inverter& of) { *seconds = of.lookup_all(*text, repeat, *ids, *count); });
    },
    Inverter::peak_bytes,
    [](const tokapi_sorter_options* options, tokapi_sorter** made, tokapi_error* error) {
      return guarded(error, [&] {
        choose(options->device);
        *made = reinterpret_cast<tokapi_sorter*>(new Sorter(*options));
      });
    },
    drop<tokapi_sorter>,
    [](tokapi_sorter* sorter, const tokapi_sorting* sorting, tokapi_error* error) {
      return guarded(sorter, error, [&](Sorter& of) { of.sort(*sorting); });
    },
    [](tokapi_sorter* sorter, uint32_t record, uint32_t algorithm) {
      return inside(sorter).most_records(record, algorithm);
    },
    [](tokapi_sorter* sorter, tokapi_sort_times* times) { *times = inside(sorter).times(); },
    [](const tokapi_lists_options* options, tokapi_device_lists** made, tokapi_error* error) {
      return guarded(error, [&] {
        choose(options->device);
        *made = reinterpret_cast<tokapi_device_lists*>(new DeviceLists(*options));
      });
    },
    drop<tokapi_device_lists>,
    [](tokapi_device_lists* lists, uint64_t postings, tokapi_loader** made, tokapi_error* error) {
      return guarded(lists, error, [&](DeviceLists& of) {
        *made = reinterpret_cast<tokapi_loader*>(new Loader(of, postings));
      });
    },
    drop<tokapi_loader>,
    [](tokapi_loader* loader, tokapi_room* room, tokapi_error* error) {
      return guarded(loader, error, [&](Loader& of) { *room = of.room(); });
    },
    [](tokapi_loader* loader, uint64_t place, uint64_t count, tokapi_error* error) {
      return guarded(loader, error, [&](Loader& of) { of.load(place, count); });
    },
    [](tokapi_loader* loader, tokapi_error* error) {
      return guarded(loader, error, [&](Loader& of) { of.finish(); });
    },
    [](tokapi_device_lists* lists, const tokapi_lists* described, tokapi_error* error) {
      return guarded(lists, error, [&](DeviceLists& of) { of.describe(*described); });
    },
    [](tokapi_device_lists* lists, const tokapi_lists* described, tokapi_error* error) {
      return guarded(lists, error, [&](DeviceLists& of) { of.finish(*described); });
    },
    [](tokapi_device_lists* lists, const tokapi_formula* formula, tokapi_error* error) {
      return guarded(lists, error, [&](DeviceLists& of) { of.weigh(*formula); });
    },
    [](tokapi_device_lists* lists, const tokapi_some_idf* some, tokapi_error* error) {
      return guarded(lists, error, [&](DeviceLists& of) { of.weigh_some(*some); });
    },
    [](const tokapi_device_lists* before, const tokapi_device_lists* added, const tokapi_renewal* renewal,
       tokapi_device_lists** made, tokapi_error* error) {
      return guarded(error, [&] {
        use_device(inside(before).device());
        *made = reinterpret_cast<tokapi_device_lists*>(Renewing(inside(before), inside(added), *renewal).run().release());
      });
    },
    [](const tokapi_device_lists* lists, uint32_t* lengths) {
      const DeviceLists& of = inside(lists);
      for (uint64_t list = 0; list < of.count(); list++) lengths[list] = of.list(static_cast<uint32_t>(list)).count;
    },
    DeviceLists::bytes,
    [](uint32_t device, uint64_t fail_after, tokapi_lane** made, tokapi_error* error) {
      return guarded(error, [&] {
        choose(device);
        *made = reinterpret_cast<tokapi_lane*>(new Lane(device, fail_after));
      });
    },
    drop<tokapi_lane>,
    [](tokapi_lane* lane, const tokapi_device_lists* lists, const tokapi_batch* batch, uint32_t scheme,
       tokapi_matches* matches, tokapi_error* error) {
      return guarded(lane, error, [&](Lane& of) { of.intersect(inside(lists), *batch, scheme, *matches); });
    },
    [](tokapi_lane* lane, const tokapi_device_lists* lists, const tokapi_batch* batch, uint32_t k,
       tokapi_ranked* ranked, tokapi_error* error) {
      return guarded(lane, error, [&](Lane& of) { of.rank(inside(lists), *batch, k, *ranked); });
    },
    [](const tokapi_mapper_options* options, tokapi_mapper** made, tokapi_error* error) {
      return guarded(error, [&] {
        choose(options->device);
        *made = reinterpret_cast<tokapi_mapper*>(new Mapper(*options));
      });
    },
    drop<tokapi_mapper>,
    [](tokapi_mapper* mapper, const tokapi_records* records, tokapi_groups* groups, tokapi_error* error) {
      return guarded(mapper, error, [&](Mapper& of) { of.run(*records, *groups); });
    },
    [](tokapi_mapper* mapper, tokapi_mapper_times* times) { *times = inside(mapper).times(); },
};

}  // namespace
}  // namespace TOKAPI_BACKEND
}  // namespace tokapi

#ifdef __CUDACC__
extern "C" const tokapi_api* tokapi_cuda_api(void) { return &tokapi::cuda::API; }
#else
extern "C" const tokapi_api* tokapi_host_api(void) { return &tokapi::host::API; }
#endif
