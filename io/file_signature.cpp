#include "io/file_signature.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace millrace::io {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::string_view bytes;
  const char* name;
};

constexpr std::array<Signature, 13> kSignatures{{{"\x8BPOD\r\n\x1A\n"sv, "POD5"},
                                                 {"BLOW5\1"sv, "BLOW5"},
                                                 {"#slow5_version"sv, "SLOW5"},
                                                 {"\x93NUMPY"sv, "npy"},
                                                 {"PK\3\4"sv, "zip"},
                                                 {"\x28\xB5\x2F\xFD"sv, "zstd"},
                                                 {"\x04\x22\x4D\x18"sv, "lz4"},
                                                 {"II*\0"sv, "TIFF"},
                                                 {"MM\0*"sv, "TIFF"},
                                                 {"SIMPLE  ="sv, "FITS"},
                                                 {"CDF\1"sv, "NetCDF classic"},
                                                 {"CDF\2"sv, "NetCDF classic"},
                                                 {"CDF\5"sv, "NetCDF classic"}}};
constexpr std::string_view kHdf5 = "\x89HDF\r\n\x1A\n"sv;
constexpr std::string_view kGzip = "\x1F\x8B"sv;

/// A user block of 512 bytes or a doubling of that may stand in front of HDF5's superblock.
bool is_hdf5(std::string_view head) {
  for (std::size_t at = 0; at < head.size(); at = at == 0 ? 512 : at * 2) {
    if (head.substr(at).starts_with(kHdf5)) return true;
  }
  return false;
}

/// gzip with an extra field "BC" in each member (SAM specification, section 4.1).
bool is_bgzf(std::string_view head) {
  return head.size() >= 16 && (static_cast<unsigned char>(head[3]) & 4U) != 0 && head.substr(12, 2) == "BC";
}

}  // namespace

std::string name_by_signature(std::span<const std::byte> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (is_hdf5(text)) return "HDF5";
  if (text.starts_with(kGzip)) return is_bgzf(text) ? "BGZF" : "gzip";
  const auto* const found = std::find_if(kSignatures.begin(), kSignatures.end(),
                                         [text](const Signature& one) { return text.starts_with(one.bytes); });
  return found == kSignatures.end() ? "" : found->name;
}

std::string but_it_starts_like(std::span<const std::byte> head) {
  const std::string name = name_by_signature(head);
  return name.empty() ? name : "; it starts like " + name;
}

}  // namespace millrace::io
