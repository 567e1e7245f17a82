#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::apps {

/// Makes the three standard descriptors safe to use: one that the caller closed is opened on /dev/null, so that no
/// data file gets its number, and a reader of ours that goes away is an error of the write instead of a signal, as is
/// a file that reaches the limit of `ulimit -f`.
void protect_standard_streams();

/// Writes all of `text` to standard output, unbuffered. Error when it cannot, also when nobody reads it any more.
void print(std::string_view text);

/// Writes `text` to standard error. A failure has nowhere to be told and is ignored.
void print_error_stream(std::string_view text) noexcept;

/// "millrace: error: <message>" on one line of standard error.
void print_error(std::string_view message) noexcept;

/// "millrace: <message>" on one line of standard error.
void print_notice(std::string_view message) noexcept;

enum class Stream { output, error };

bool is_terminal(Stream stream);
/// Width of the terminal at standard error; 80 when it does not say.
std::size_t terminal_columns();

}  // namespace millrace::apps
