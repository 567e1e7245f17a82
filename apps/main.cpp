#include <vector>

#include "apps/command_line.h"

int main(int argc, char** argv) {
  return millrace::apps::run_command_line(std::vector<std::string>(argv, argv + argc));
}
