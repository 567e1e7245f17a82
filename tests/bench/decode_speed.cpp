// Speed of decoding, one core, GB/s of samples (as int16): every coding of reads, the parts of VBZ by themselves,
// libvbz doing the same where Debian's libvbz_hdf_plugin.so.0 is installed, called directly and as HDF5's filter (the
// file lies in memory), and a warm memcpy. All take turns in one run; medians of the thread's CPU time, so that other
// load does not count.
//
//   build/tests/bench/bench_decode_speed [ROUNDS] [SAMPLES] [SAMPLES_PER_READ]      default: 15, 4000000, 50000

#include <dlfcn.h>
#include <fmt/format.h>
#include <hdf5.h>
#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "io/pod5_vbz.h"
#include "io/signal_coding.h"
#include "io/slow5_encoder.h"
#include "io/slow5_record.h"
#include "io/stream_vbyte.h"
#include "io/stream_vbyte16.h"
#include "io/vbz.h"

namespace {

using millrace::Attributes;
using millrace::io::Pod5VbzDecoder;
using millrace::io::Pod5VbzEncoder;
using millrace::io::Slow5Coding;
using millrace::io::Slow5Header;
using millrace::io::Slow5Packing;
using millrace::io::Slow5RecordDecoder;
using millrace::io::Slow5RecordEncoder;
using millrace::io::Slow5SignalCoding;
using millrace::io::ValueCoding;
using millrace::io::VbzDecoder;
using millrace::io::VbzEncoder;
using millrace::io::VectorCode;

using Bytes = std::vector<std::byte>;
using Samples = std::vector<std::int16_t>;

/// A pore's signal as an R9.4 has it: a level for 9 +- 4 samples, normal noise on it.
Samples pore_signal(std::size_t count) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> level(500, 75);
  std::normal_distribution<double> dwell(9, 4);
  std::normal_distribution<double> noise(0, 10);
  Samples signal;
  while (signal.size() < count) {
    const double current = level(random);
    for (double left = std::max(1.0, std::round(dwell(random))); left > 0 && signal.size() < count; --left) {
      signal.push_back(static_cast<std::int16_t>(current + noise(random)));
    }
  }
  return signal;
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// One way to make the samples of all reads.
struct Way {
  std::string name;
  std::function<void()> decode_all;
  std::vector<double> seconds;

  double median() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

class Bench {
 public:
  Bench(std::size_t samples, std::size_t read_samples)
      : read_samples_(read_samples), signal_(pore_signal(samples)), out_(samples) {}

  /// Of each read but the last, and so of each row of POD5.
  std::size_t read_samples() const { return read_samples_; }
  std::size_t reads() const { return (signal_.size() + read_samples_ - 1) / read_samples_; }
  std::span<const std::int16_t> read(std::size_t i) const {
    return std::span(signal_).subspan(i * read_samples_, size(i));
  }
  std::span<std::int16_t> room(std::size_t i) { return std::span(out_).subspan(i * read_samples_, size(i)); }

  /// Which read some room() is for.
  std::size_t number(std::span<const std::int16_t> room) const {
    return static_cast<std::size_t>(room.data() - out_.data()) / read_samples_;
  }

  /// `encoded`: of every read.
  void add(const std::string& name, std::vector<Bytes> encoded,
           const std::function<void(const Bytes&, std::span<std::int16_t>)>& decode, bool gives_samples = true) {
    bytes_.push_back(0);
    for (const Bytes& one : encoded) bytes_.back() += one.size();
    auto all = [this, encoded = std::move(encoded), decode] {
      for (std::size_t i = 0; i < encoded.size(); ++i) decode(encoded[i], room(i));
    };
    std::fill(out_.begin(), out_.end(), std::int16_t{0});
    all();
    if (gives_samples && out_ != signal_) throw std::runtime_error(name + " gives other samples");
    ways_.push_back({name, std::move(all), {}});
  }

  void run(int rounds) {
    std::mt19937 random(1);
    std::vector<std::size_t> order(ways_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (int round = 0; round < rounds; ++round) {
      std::shuffle(order.begin(), order.end(), random);
      for (const std::size_t i : order) {
        const double before = cpu_seconds();
        ways_[i].decode_all();
        ways_[i].seconds.push_back(cpu_seconds() - before);
      }
    }
  }

  double seconds(const std::string& name) const {
    const auto way = std::find_if(ways_.begin(), ways_.end(), [&](const Way& one) { return one.name == name; });
    return way == ways_.end() ? 0 : way->median();
  }

  void print() const {
    const double size = static_cast<double>(signal_.size() * sizeof(std::int16_t));
    fmt::print("{:<34} {:>8} {:>9} {:>12}\n", "", "GB/s", "to memcpy", "bytes/sample");
    for (std::size_t i = 0; i < ways_.size(); ++i) {
      const double speed = size / ways_[i].median() / 1e9;
      fmt::print("{:<34} {:>8.2f} {:>8.2f}x {:>12.2f}\n", ways_[i].name, speed,
                 ways_.front().median() / ways_[i].median(),
                 static_cast<double>(bytes_[i]) / static_cast<double>(signal_.size()));
    }
  }

 private:
  std::size_t size(std::size_t i) const { return std::min(read_samples_, signal_.size() - i * read_samples_); }

  std::size_t read_samples_;
  Samples signal_;
  Samples out_;
  std::vector<Way> ways_;
  std::vector<std::size_t> bytes_;
};

std::vector<Bytes> each_read(const Bench& bench, const std::function<Bytes(std::span<const std::int16_t>)>& encode) {
  std::vector<Bytes> encoded;
  for (std::size_t i = 0; i < bench.reads(); ++i) encoded.push_back(encode(bench.read(i)));
  return encoded;
}

Bytes copy_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

/// The stream under the zstd layer, with readable bytes behind it.
Bytes unpacked(std::span<const std::byte> frame) {
  Bytes stream(ZSTD_getFrameContentSize(frame.data(), frame.size()) + 64);
  ZSTD_decompress(stream.data(), stream.size(), frame.data(), frame.size());
  return stream;
}

struct FreeDecompressor {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

/// Undoes zstd and nothing else: `skip` bytes stand before the frame.
std::function<void(const Bytes&, std::span<std::int16_t>)> zstd_alone(const Bench& bench, std::size_t skip) {
  auto context = std::shared_ptr<ZSTD_DCtx>(ZSTD_createDCtx(), FreeDecompressor());
  auto stream = std::make_shared<Bytes>(4 * bench.read_samples());
  return [context, stream, skip](const Bytes& bytes, std::span<std::int16_t>) {
    ZSTD_decompressDCtx(context.get(), stream->data(), stream->size(), bytes.data() + skip, bytes.size() - skip);
  };
}

void add_slow5(Bench& bench, const std::string& name, const Slow5Coding& coding) {
  Slow5RecordEncoder encoder({}, coding);
  const Attributes attributes{{"read_id", std::string("c99357df-c74f-4ac0-bb2b-10d0414866c0")},
                              {"digitisation", 8192.0},
                              {"offset", 10.0},
                              {"range", 1443.0},
                              {"sampling_rate", 4000.0}};
  auto decoder = std::make_shared<Slow5RecordDecoder>();
  bench.add(name, each_read(bench, [&](auto samples) { return copy_of(encoder.encode(attributes, 0, samples)); }),
            [header = Slow5Header(), coding, decoder](const Bytes& record, std::span<std::int16_t> samples) {
              decoder->decode(decoder->open(record, coding, header, samples.size()), coding, samples);
            });
}

/// libvbz, when it is installed: vbz.h of libvbz-hdf-plugin-dev says what these are.
struct LibVbz {
  struct Options {
    bool zigzag_delta;
    unsigned integer_size;
    unsigned zstd_level;
    unsigned version;
  };
  using Decompress = std::uint32_t (*)(const void*, std::uint32_t, void*, std::uint32_t, const Options*);

  Decompress decompress = nullptr;
  bool registered = false;  // as a filter of HDF5

  LibVbz() {
    void* const library = dlopen("libvbz_hdf_plugin.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    decompress = reinterpret_cast<Decompress>(dlsym(library, "vbz_decompress_sized"));
    const auto info = reinterpret_cast<const void* (*)()>(dlsym(library, "vbz_plugin_info"));
    registered = info != nullptr && H5Zregister(info()) >= 0;
  }
};

/// A file in memory with a dataset per read, as FAST5 files have them.
class Hdf5File {
 public:
  explicit Hdf5File(const std::vector<Bytes>& chunks, const std::vector<unsigned>& filter_values, const Bench& bench) {
    const hid_t in_memory = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(in_memory, std::size_t{1} << 24, false);
    file_ = H5Fcreate("decode_speed", H5F_ACC_TRUNC, H5P_DEFAULT, in_memory);
    H5Pclose(in_memory);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      const hsize_t samples = bench.read(i).size();
      const hsize_t start = 0;
      const hid_t space = H5Screate_simple(1, &samples, nullptr);
      const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
      H5Pset_chunk(layout, 1, &samples);
      H5Pset_filter(layout, kVbzFilter, H5Z_FLAG_MANDATORY, filter_values.size(), filter_values.data());
      const hid_t set = H5Dcreate(file_, name(i).c_str(), H5T_STD_I16LE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
      H5Dwrite_chunk(set, H5P_DEFAULT, 0, &start, chunks[i].size(), chunks[i].data());
      H5Dclose(set);
      H5Pclose(layout);
      H5Sclose(space);
    }
  }
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;
  ~Hdf5File() { H5Fclose(file_); }

  void read(std::size_t i, std::span<std::int16_t> samples) const {
    const hid_t set = H5Dopen(file_, name(i).c_str(), H5P_DEFAULT);
    H5Dread(set, H5T_NATIVE_INT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, samples.data());
    H5Dclose(set);
  }

 private:
  static constexpr H5Z_filter_t kVbzFilter = 32020;

  static std::string name(std::size_t i) { return fmt::format("read_{}", i); }

  hid_t file_ = H5I_INVALID_HID;
};

void add_all(Bench& bench) {
  bench.add("memcpy", each_read(bench, [](auto samples) { return copy_of(std::as_bytes(samples)); }),
            [](const Bytes& bytes, std::span<std::int16_t> samples) {
              std::memcpy(samples.data(), bytes.data(), bytes.size());
            });

  Pod5VbzEncoder pod5_encoder;
  const auto pod5 = each_read(bench, [&](auto samples) { return copy_of(pod5_encoder.encode(samples)); });
  bench.add("POD5 VBZ", pod5,
            [decoder = std::make_shared<Pod5VbzDecoder>()](const Bytes& row, std::span<std::int16_t> samples) {
              decoder->decode(row, samples);
            });
  bench.add("  its zstd", pod5, zstd_alone(bench, 0), false);
  std::vector<Bytes> streams;
  for (const Bytes& row : pod5) streams.push_back(unpacked(row));
  bench.add("  its StreamVByte", streams, [](const Bytes& stream, std::span<std::int16_t> samples) {
    millrace::io::decode_stream_vbyte16(stream.data(), samples);
  });
  if (millrace::io::fastest_vector_code() >= VectorCode::ssse3) {
    bench.add("  its StreamVByte, SSSE3", streams, [](const Bytes& stream, std::span<std::int16_t> samples) {
      millrace::io::decode_stream_vbyte16(stream.data(), samples, VectorCode::ssse3);
    });
  }
  bench.add("  its StreamVByte, scalar", streams, [](const Bytes& stream, std::span<std::int16_t> samples) {
    millrace::io::decode_stream_vbyte16(stream.data(), samples, VectorCode::plain);
  });

  VbzEncoder fast5_encoder(1);
  const auto fast5 = each_read(bench, [&](auto samples) { return copy_of(fast5_encoder.encode(samples)); });
  const auto vbz = fast5_encoder.parameters();
  bench.add("FAST5 VBZ", fast5,
            [decoder = std::make_shared<VbzDecoder>(), vbz](const Bytes& chunk, std::span<std::int16_t> samples) {
              decoder->decode(chunk, vbz, samples);
            });
  bench.add("  its zstd (FAST5)", fast5, zstd_alone(bench, 4), false);
  streams.clear();
  for (const Bytes& chunk : fast5) streams.push_back(unpacked(std::span(chunk).subspan(4)));
  bench.add("  its StreamVByte (FAST5)", streams, [](const Bytes& stream, std::span<std::int16_t> samples) {
    millrace::io::decode_stream_vbyte(stream.data(), ValueCoding::zigzag_delta, samples);
  });
  static const LibVbz library;
  if (library.decompress != nullptr) {
    bench.add("  libvbz", fast5, [](const Bytes& chunk, std::span<std::int16_t> samples) {
      const LibVbz::Options options{true, 2, 1, 0};
      library.decompress(chunk.data(), static_cast<std::uint32_t>(chunk.size()), samples.data(),
                         static_cast<std::uint32_t>(samples.size_bytes()), &options);
    });
  }
  if (library.registered) {
    const auto parameters = vbz.filter_values();
    const auto file =
        std::make_shared<Hdf5File>(fast5, std::vector<unsigned>(parameters.begin(), parameters.end()), bench);
    bench.add("  libvbz through HDF5", fast5, [file, &bench](const Bytes&, std::span<std::int16_t> samples) {
      file->read(bench.number(samples), samples);
    });
  }

  add_slow5(bench, "BLOW5 zstd, svb-zd", {false, Slow5Packing::zstd, Slow5SignalCoding::svb_zd});
  add_slow5(bench, "BLOW5 zlib, svb-zd", {false, Slow5Packing::zlib, Slow5SignalCoding::svb_zd});
  add_slow5(bench, "BLOW5 none, svb-zd", {false, Slow5Packing::none, Slow5SignalCoding::svb_zd});
  add_slow5(bench, "BLOW5 zlib", {false, Slow5Packing::zlib, Slow5SignalCoding::none});
  add_slow5(bench, "BLOW5 none", {false, Slow5Packing::none, Slow5SignalCoding::none});
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::stoi(argv[1]) : 15;
  Bench bench(argc > 2 ? std::stoul(argv[2]) : 4'000'000, argc > 3 ? std::stoul(argv[3]) : 50'000);
  add_all(bench);
  bench.run(rounds);
  bench.print();
  const double zstd_share = bench.seconds("  its zstd") / bench.seconds("POD5 VBZ");
  const double zstd_share_fast5 = bench.seconds("  its zstd (FAST5)") / bench.seconds("FAST5 VBZ");
  fmt::print("zstd's share of VBZ: POD5 {:.0f} %, FAST5 {:.0f} %\n", 100 * zstd_share, 100 * zstd_share_fast5);
  const double ours = bench.seconds("FAST5 VBZ");
  const double zstd = bench.seconds("  its zstd (FAST5)");
  for (const char* const other : {"  libvbz", "  libvbz through HDF5"}) {
    const double theirs = bench.seconds(other);
    if (theirs == 0) continue;
    fmt::print("FAST5 VBZ against{}: {:.2f} times as fast; zstd's time, which both have, taken off: {:.2f} times\n",
               other + 1, theirs / ours, (theirs - zstd) / (ours - zstd));
  }
  if (bench.seconds("  libvbz") == 0) fmt::print("libvbz is not installed (package libvbz-hdf-plugin0)\n");
}
