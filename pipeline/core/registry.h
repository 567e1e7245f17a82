#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "pipeline/core/options.h"

namespace millrace {

class Stage;
class Source;
class Transform;
class Sink;

enum class Role { source, transform, sink };

/// "source", "transform", "sink".
const char* name_of(Role role);

/// The stage types that a config may name. Filled by functions somebody can read: add_builtin_stages() and a plugin's
/// millrace_register(). Not thread-safe while it is filled.
class Registry {
 public:
  using Factory = std::function<std::unique_ptr<Stage>(const Options&)>;

  struct Entry {
    Role role;
    std::string summary;  ///< one line for `millrace stages`
    std::string from;     ///< "millrace" or the path of the plugin
    Factory make;
  };

  /// Registers T under `type`. T derives from Source, Transform or Sink and is constructed from `const Options&`.
  /// Error (kind config) when the type is taken.
  template <typename T>
  void add(const std::string& type, const std::string& summary = "") {
    constexpr Role kRole = std::is_base_of_v<Source, T>      ? Role::source
                           : std::is_base_of_v<Transform, T> ? Role::transform
                                                             : Role::sink;
    static_assert(kRole != Role::sink || std::is_base_of_v<Sink, T>, "a stage is a Source, a Transform or a Sink");
    add_entry(type, {kRole, summary, provider_,
                     [](const Options& options) -> std::unique_ptr<Stage> { return std::make_unique<T>(options); }});
  }

  /// The entry; Error (kind config) with the nearest known type when there is none.
  const Entry& at(const std::string& type) const;
  bool contains(const std::string& type) const { return entries_.contains(type); }
  const std::map<std::string, Entry>& entries() const { return entries_; }

  /// The options that the type's constructor reads, found by constructing one with Options::recorder().
  std::vector<OptionDescription> describe(const std::string& type) const;

  /// Whoever registers from now on is called this in Entry::from.
  void set_provider(std::string provider) { provider_ = std::move(provider); }

 private:
  void add_entry(const std::string& type, Entry entry);

  std::map<std::string, Entry> entries_;
  std::string provider_ = "millrace";
};

/// The word of `candidates` closest to `word` by edit distance; empty when none is close enough to suggest.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace millrace
