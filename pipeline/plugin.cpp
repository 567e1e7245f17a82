#include "pipeline/plugin.h"

#include <dlfcn.h>

#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include "pipeline/core/abi.h"
#include "pipeline/core/error.h"

namespace millrace {
namespace {

using RegisterFunction = void (*)(Registry&);

Error plugin_error(const std::filesystem::path& path, const std::string& message) {
  Error error(message, ErrorKind::config);
  error.at_path(path);
  return error;
}

/// The loader's own words, without the path that it puts in front of them.
std::string loader_message(const std::filesystem::path& loaded) {
  const char* const text = dlerror();
  std::string message = text == nullptr ? "unknown reason" : text;
  const std::string prefix = loaded.string() + ": ";
  if (message.starts_with(prefix)) message.erase(0, prefix.size());
  return message;
}

void* open_library(const std::filesystem::path& path) {
  std::error_code failure;
  const auto status = std::filesystem::status(path, failure);
  if (!std::filesystem::exists(status)) throw plugin_error(path, "there is no such plugin");
  if (!std::filesystem::is_regular_file(status)) throw plugin_error(path, "a plugin must be a file");

  // Absolute: a bare name would be looked for in the library search path. RTLD_NOW: an open symbol is found here and
  // not in the middle of a run. RTLD_LOCAL: two plugins may use the same names.
  const auto absolute = std::filesystem::absolute(path);
  void* const library = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw plugin_error(path, "cannot load the plugin: " + loader_message(absolute));
  return library;
}

void check_abi(const std::filesystem::path& path, void* library) {
  const void* const tag = dlsym(library, "millrace_abi_tag");
  if (tag == nullptr) {
    throw plugin_error(path,
                       "this shared object is no millrace plugin: it has no symbol millrace_abi_tag, which "
                       "including millrace/stage.h would give it");
  }
  const std::string theirs = static_cast<const char*>(tag);
  if (theirs != MILLRACE_ABI_TAG) {
    throw plugin_error(path, "the plugin was built for '" + theirs +
                                 "', this program is '" MILLRACE_ABI_TAG
                                 "': build it again with the headers of this millrace");
  }
}

RegisterFunction find_register(const std::filesystem::path& path, void* library) {
  void* const symbol = dlsym(library, "millrace_register");
  if (symbol == nullptr) {
    throw plugin_error(path,
                       "the plugin has no symbol millrace_register: define extern \"C\" void "
                       "millrace_register(millrace::Registry&)");
  }
  return reinterpret_cast<RegisterFunction>(symbol);  // POSIX: dlsym gives functions as data pointers
}

}  // namespace

void load_plugin(const std::filesystem::path& path, Registry& registry) {
  void* const library = open_library(path);
  check_abi(path, library);
  const RegisterFunction register_stages = find_register(path, library);

  Registry extended = registry;
  extended.set_provider(path.string());
  try {
    register_stages(extended);
  } catch (Error& error) {
    throw error.of_kind(ErrorKind::config).at_path(path);
  } catch (const std::exception& error) {
    throw plugin_error(path, "millrace_register failed: " + std::string(error.what()));
  } catch (...) {
    throw plugin_error(path, "millrace_register failed with an exception that is no std::exception");
  }
  if (extended.entries().size() == registry.entries().size()) {
    throw plugin_error(path, "the plugin registers no stage type");
  }
  extended.set_provider("millrace");
  registry = std::move(extended);
}

}  // namespace millrace
