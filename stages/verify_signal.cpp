#include "stages/verify_signal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <utility>

namespace millrace {
namespace {

constexpr std::size_t kLinesTold = 10;
constexpr std::uint64_t kNodeBytes = 64;  // of a hash table beside what it holds, roughly

std::vector<std::string_view> fields_of(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string_view> fields;
  while (true) {
    const auto tab = line.find('\t');
    fields.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return fields;
    line.remove_prefix(tab + 1);
  }
}

}  // namespace

VerifySignal::VerifySignal(const Options& options)
    : table_(options.require<std::filesystem::path>("against", "table that signal_qc_writer made of these reads")) {
  const auto action = options.get<std::string>(
      "on_mismatch", "fail", "fail (end the run) or count (go on; such reads are refused); both are reported");
  if (action != "fail" && action != "count") {
    throw options.error_at("on_mismatch", "'on_mismatch' must be fail or count, not '" + action + "'");
  }
  fails_ = action == "fail";
}

void VerifySignal::prepare(const ChunkType& input) {
  input.require(DType::i16).require("signal");
  hasher_.emplace();
  load();
}

void VerifySignal::load() {
  std::ifstream file(table_);
  if (!file) throw system_error("cannot open the table of checksums", errno).at_path(table_);
  std::string line;
  std::getline(file, line);
  const auto names = fields_of(line);
  const auto id = std::find(names.begin(), names.end(), "read_id") - names.begin();
  const auto digest = std::find(names.begin(), names.end(), "sha256_i16le") - names.begin();
  const auto columns = static_cast<std::ptrdiff_t>(names.size());
  if (id == columns || digest == columns) {
    throw Error("has no columns read_id and sha256_i16le, which signal_qc_writer makes").at_path(table_);
  }
  for (std::uint64_t number = 2; std::getline(file, line); ++number) {
    const auto fields = fields_of(line);
    if (static_cast<std::ptrdiff_t>(fields.size()) != columns) {
      throw Error(fmt::format("line {} has {} fields, the first line {}", number, fields.size(), columns))
          .at_path(table_);
    }
    add(fields[static_cast<std::size_t>(id)], fields[static_cast<std::size_t>(digest)], number);
  }
  if (file.bad()) throw system_error("cannot read the table of checksums", errno).at_path(table_);
}

void VerifySignal::add(std::string_view id, std::string_view hex, std::uint64_t line) {
  const auto digest = digest_of(hex);
  if (!digest) throw Error(fmt::format("line {} has no SHA-256 in column sha256_i16le", line)).at_path(table_);
  const auto [entry, is_new] = expected_.try_emplace(std::string(id), Expected{*digest});
  if (!is_new && entry->second.digest != *digest) {
    throw Error(fmt::format("line {}: read {} stands there with two sums", line, id)).at_path(table_);
  }
  if (is_new) table_bytes_ += sizeof(*entry) + id.size() + kNodeBytes;
}

void VerifySignal::consume(Chunk chunk) {
  const auto id = chunk.attributes().text("read_id");
  if (!id) throw Error("needs the attribute 'read_id', which its input does not have");
  ++reads_;
  const auto entry = expected_.find(std::string(*id));
  if (entry == expected_.end()) {
    note(chunk, fmt::format("read {} is not in {}", *id, table_.filename().string()), unknown_);
    return;
  }
  entry->second.came = true;
  const SignalDigest found = hasher_->of(chunk.bytes());
  if (found == entry->second.digest) return;
  note(chunk,
       fmt::format("read {}: checksum mismatch of its samples: expected sha256 {}, found {}", *id,
                   hex_of(entry->second.digest), hex_of(found)),
       mismatches_);
}

void VerifySignal::note(const Chunk& chunk, const std::string& what, std::uint64_t& count) {
  Error error(what);
  if (chunk.origin().file) error.at_path(*chunk.origin().file).at_offset(chunk.origin().offset);
  if (fails_) throw error;
  ++count;
  if (first_lines_.size() < kLinesTold) first_lines_.emplace_back(error.what());
}

void VerifySignal::finish(End end) {
  if (end != End::complete) return;
  for (const auto& [id, expected] : expected_) {
    if (expected.came) continue;
    if (missing_++ == 0 || id < first_missing_) first_missing_ = id;
  }
  if (missing_ == 0 || !fails_) return;
  throw Error(fmt::format("{} of {} reads of the table did not come, {} among them", missing_, expected_.size(),
                          first_missing_))
      .at_path(table_);
}

std::vector<std::string> VerifySignal::plan_notes() const {
  return {fmt::format("{} reads in {}", expected_.size(), table_.filename().string())};
}

Findings VerifySignal::findings() const {
  Findings result;
  if (reads_ == 0 && missing_ == 0) return result;
  result.lines.push_back(fmt::format("{} of {} reads have other samples than the table says, {} are not in it",
                                     mismatches_, reads_, unknown_));
  if (missing_ != 0) {
    result.lines.push_back(fmt::format("{} of {} reads of the table did not come, {} among them", missing_,
                                       expected_.size(), first_missing_));
  }
  result.lines.insert(result.lines.end(), first_lines_.begin(), first_lines_.end());
  if (mismatches_ + unknown_ > first_lines_.size()) {
    result.lines.push_back(fmt::format("and {} more", mismatches_ + unknown_ - first_lines_.size()));
  }
  if (mismatches_ != 0) result.refused.push_back({"checksum mismatch", mismatches_});
  if (unknown_ != 0) result.refused.push_back({"not in the table of checksums", unknown_});
  return result;
}

}  // namespace millrace
