#pragma once

// The tag that a plugin carries without its author's doing: stage.h includes this file. The program compares it with
// its own before it calls anything in the plugin (pipeline/plugin.h). Raise the number whenever a header in
// pipeline/core changes the layout of a class or the order of its virtual functions.

#define MILLRACE_ABI_NUMBER "3"

#if defined(__GLIBCXX__) || defined(__GNUC__)
#include <cstddef>  // defines _GLIBCXX_USE_CXX11_ABI
#endif

#if defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI
#define MILLRACE_ABI_STRING "cxx11"
#else
#define MILLRACE_ABI_STRING "other-std-string"
#endif

#define MILLRACE_ABI_TAG "millrace-abi-" MILLRACE_ABI_NUMBER "-" MILLRACE_ABI_STRING

/// Weak: every file of a plugin defines it, the linker keeps one.
extern "C" [[gnu::weak, gnu::visibility("default")]] const char millrace_abi_tag[];
// NOLINTNEXTLINE(misc-definitions-in-headers): weak, and the same in every file
const char millrace_abi_tag[] = MILLRACE_ABI_TAG;
