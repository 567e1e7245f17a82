#pragma once

#include <string>

namespace millrace::test {

/// One [[stage]] of a config.
inline std::string stage(const std::string& name, const std::string& type, const std::string& more = "") {
  return "[[stage]]\nname = \"" + name + "\"\ntype = \"" + type + "\"\n" + more + "\n";
}

/// `chunks` chunks of 64 KiB from memory.
inline std::string synthetic(std::uint64_t chunks, const std::string& more = "") {
  return stage("read", "synthetic_reader",
               "chunks = " + std::to_string(chunks) + "\nchunk_bytes = \"64 KiB\"\nfill = \"ramp\"\n" + more);
}

inline std::string null_writer() { return stage("write", "null_writer"); }

inline std::string raw_writer(const std::string& more = "") {
  return stage("write", "raw_writer", "path = \"out/result.raw\"\n" + more);
}

}  // namespace millrace::test
