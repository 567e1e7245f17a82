#include "stages/attributes_memory.h"

#include <string>
#include <variant>

namespace millrace {

std::uint64_t memory_of(const Attributes& attributes) {
  std::uint64_t bytes = attributes.entries().capacity() * sizeof(attributes.entries().front());
  for (const auto& [name, value] : attributes.entries()) {
    bytes += name.capacity();
    if (const auto* const text = std::get_if<std::string>(&value)) bytes += text->capacity();
  }
  return bytes;
}

}  // namespace millrace
