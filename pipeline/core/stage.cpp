#include "pipeline/core/stage.h"

namespace millrace {

const ChunkType& ChunkType::require(DType wanted) const {
  if (dtype != wanted) {
    throw config_error("needs " + std::string(name_of(wanted)) + " elements, but its input is " + text());
  }
  return *this;
}

const ChunkType& ChunkType::require(const std::string& wanted) const {
  if (content != wanted) throw config_error("needs '" + wanted + "' chunks, but its input is " + text());
  return *this;
}

std::string ChunkType::text() const {
  std::string result = std::string(name_of(dtype)) + " " + content;
  if (max_bytes != 0) result += ", up to " + format_bytes(max_bytes);
  return result;
}

}  // namespace millrace
