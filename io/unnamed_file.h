#pragma once

#include <filesystem>

#include "io/file_descriptor.h"

namespace millrace::io {

/// A regular file in `directory`, open for reading and writing, that has no name and vanishes with its last descriptor
/// however the process ends. Not valid, with errno, where the file system or the kernel has no such files.
FileDescriptor open_unnamed(const std::filesystem::path& directory);

/// Gives an open file that has no name the name `path`, through /proc. False, with errno, when that cannot be: EEXIST.
bool link_unnamed(const FileDescriptor& file, const std::filesystem::path& path);

/// An empty file for trying what a file system can: without a name as soon as this returns, on every file system. Error
/// with the path of the directory.
FileDescriptor open_scratch(const std::filesystem::path& directory);

}  // namespace millrace::io
