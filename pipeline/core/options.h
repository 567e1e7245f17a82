#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "pipeline/core/error.h"
#include "pipeline/core/units.h"

namespace millrace {

class Options;

/// One value of a config, as read: before anybody says which type is wanted.
struct OptionValue {
  using Table = std::shared_ptr<const Options>;
  std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>, Table> value;
  SourcePosition position;
};

/// What a stage can be told, found out by constructing it with Options::recorder().
struct OptionDescription {
  std::string key;  ///< dotted for the keys of a table: "via.transport"
  std::string
      type;  ///< "integer", "number", "boolean", "text", "size", "duration", "path", "list of text", "list of paths"
  std::string fallback;  ///< the default as it would be written in a config; empty when required
  bool required = false;
  std::string help;
};

/// The options of one stage: typed access to its part of the config. Remembers which keys were asked for, so that a
/// key nobody reads can be refused. Copies share that memory. Not thread-safe: used while a pipeline is built.
///
/// Supported T: bool, every integer type, float, double, std::string, Bytes, Duration, std::filesystem::path (relative
/// paths are taken from the config file's directory), and std::vector of std::string or path (a single text counts as
/// a list of one).
class Options {
 public:
  Options();
  /// `directory` resolves relative paths; `position` is where the table stands, for errors about missing keys.
  Options(std::map<std::string, OptionValue> values, std::filesystem::path directory, SourcePosition position);

  /// Options for finding out what a stage reads: every get() succeeds with its default, required ones with T{}.
  static Options recorder();

  /// The value or `fallback`. Error (kind config, with position) when the value has another type, no unit, or is out
  /// of T's range. `help`: one short phrase for `millrace stages`.
  template <typename T>
  T get(const std::string& key, const std::type_identity_t<T>& fallback, const std::string& help = "") const {
    note<T>(key, &fallback, help);
    const OptionValue* const found = find(key);
    return found == nullptr ? fallback : convert<T>(prefix_ + key, *found);
  }

  /// The value; Error when it is missing.
  template <typename T>
  T require(const std::string& key, const std::string& help = "") const {
    note<T>(key, nullptr, help);
    const OptionValue* const found = find(key);
    if (found != nullptr) return convert<T>(prefix_ + key, *found);
    if (recording()) return T{};
    throw missing(key);
  }

  /// The sub-table `key`, empty when absent.
  Options table(const std::string& key) const;

  bool has(const std::string& key) const;
  /// An Error of kind config at the position of `key` (or of the table): for checks that get() cannot do.
  Error error_at(const std::string& key, const std::string& message) const;

  /// Keys present that nobody asked for, with their positions, sub-tables included (dotted).
  std::vector<std::pair<std::string, SourcePosition>> unread() const;
  /// Every key that was asked for, in order of asking, sub-tables included (dotted).
  std::vector<OptionDescription> described() const;

  const std::map<std::string, OptionValue>& values() const { return values_; }
  const std::filesystem::path& directory() const { return directory_; }
  const SourcePosition& position() const { return position_; }
  /// Name of the stage that these options are for, to be shown to people; empty when nobody said it.
  const std::string& stage() const { return stage_; }
  void set_stage(std::string name) { stage_ = std::move(name); }

 private:
  struct Memory;

  const OptionValue* find(const std::string& key) const;
  bool recording() const;
  Error missing(const std::string& key) const;
  void record(OptionDescription description) const;

  static std::int64_t to_integer(const std::string& key, const OptionValue& value, std::int64_t min, std::int64_t max);
  static double to_number(const std::string& key, const OptionValue& value, double max);
  static bool to_boolean(const std::string& key, const OptionValue& value);
  static std::string to_text(const std::string& key, const OptionValue& value);
  static Bytes to_bytes(const std::string& key, const OptionValue& value);
  static Duration to_duration(const std::string& key, const OptionValue& value);
  static std::vector<std::string> to_list(const std::string& key, const OptionValue& value);

  template <typename T>
  static constexpr bool kIsInteger = std::integral<T> && !std::same_as<T, bool>;

  template <typename T>
  T convert(const std::string& key, const OptionValue& value) const {
    if constexpr (std::same_as<T, bool>) {
      return to_boolean(key, value);
    } else if constexpr (kIsInteger<T>) {
      // A TOML integer has 64 bits with sign; an unsigned 64-bit option gets its lower half, which is all a file can
      // say.
      constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
      constexpr auto kLimit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      return static_cast<T>(to_integer(key, value, static_cast<std::int64_t>(std::numeric_limits<T>::min()),
                                       static_cast<std::int64_t>(kMax < kLimit ? kMax : kLimit)));
    } else if constexpr (std::floating_point<T>) {
      return static_cast<T>(to_number(key, value, static_cast<double>(std::numeric_limits<T>::max())));
    } else if constexpr (std::same_as<T, std::string>) {
      return to_text(key, value);
    } else if constexpr (std::same_as<T, Bytes>) {
      return to_bytes(key, value);
    } else if constexpr (std::same_as<T, Duration>) {
      return to_duration(key, value);
    } else if constexpr (std::same_as<T, std::filesystem::path>) {
      return resolve(to_text(key, value));
    } else if constexpr (std::same_as<T, std::vector<std::string>>) {
      return to_list(key, value);
    } else {
      static_assert(std::same_as<T, std::vector<std::filesystem::path>>, "not an option type, see the list above");
      std::vector<std::filesystem::path> paths;
      for (const auto& text : to_list(key, value)) paths.push_back(resolve(text));
      return paths;
    }
  }

  std::filesystem::path resolve(const std::string& text) const;

  template <typename T>
  static std::string spell(const T& value) {
    if constexpr (std::same_as<T, bool>) {
      return value ? "true" : "false";
    } else if constexpr (kIsInteger<T>) {
      return std::to_string(value);
    } else if constexpr (std::floating_point<T>) {
      return spell_number(value);
    } else if constexpr (std::same_as<T, std::string>) {
      return "\"" + value + "\"";
    } else if constexpr (std::same_as<T, Bytes>) {
      return "\"" + spell_bytes(value) + "\"";
    } else if constexpr (std::same_as<T, Duration>) {
      return "\"" + spell_duration(value) + "\"";
    } else if constexpr (std::same_as<T, std::filesystem::path>) {
      return "\"" + value.string() + "\"";
    } else {
      std::string list = "[";
      for (const auto& item : value) list += (list.size() > 1 ? ", " : "") + spell(item);
      return list + "]";
    }
  }
  static std::string spell_number(float value);
  static std::string spell_number(double value);

  template <typename T>
  static constexpr const char* type_name() {
    if constexpr (std::same_as<T, bool>) return "boolean";
    if constexpr (kIsInteger<T>) return "integer";
    if constexpr (std::floating_point<T>) return "number";
    if constexpr (std::same_as<T, std::string>) return "text";
    if constexpr (std::same_as<T, Bytes>) return "size";
    if constexpr (std::same_as<T, Duration>) return "duration";
    if constexpr (std::same_as<T, std::filesystem::path>) return "path";
    if constexpr (std::same_as<T, std::vector<std::string>>) return "list of text";
    return "list of paths";
  }

  template <typename T>
  void note(const std::string& key, const T* fallback, const std::string& help) const {
    record({key, type_name<T>(), fallback == nullptr ? "" : spell(*fallback), fallback == nullptr, help});
  }

  std::map<std::string, OptionValue> values_;
  std::filesystem::path directory_;
  SourcePosition position_;
  std::string stage_;
  std::string prefix_;  // "via." inside the table via
  std::shared_ptr<Memory> memory_;
};

}  // namespace millrace
