#include "pipeline/spec.h"

namespace millrace {

const char* name_of(WhenFull policy) {
  switch (policy) {
    case WhenFull::block:
      return "block";
    case WhenFull::drop_newest:
      return "drop_newest";
    case WhenFull::drop_oldest:
      return "drop_oldest";
  }
  return "?";
}

const std::vector<std::string>& reserved_stage_keys() {
  static const std::vector<std::string> kKeys{"name", "type", "slots", "link", "from", "ordered", "when_full"};
  return kKeys;
}

}  // namespace millrace
