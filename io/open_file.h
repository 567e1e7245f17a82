#pragma once

#include <filesystem>
#include <memory>

#include "io/file_descriptor.h"
#include "io/reader.h"
#include "io/transports.h"
#include "io/via.h"
#include "io/writer.h"
#include "pipeline/core/stage.h"

namespace millrace::io {

/// Opens a regular file for reading with the transport of `via`, which settle() has found to work:
/// timed(throttled(faulty(advised(backend)))), the inner ones only where they are asked for. Error with the path when
/// it cannot be opened or is no regular file. `session`: what the readers of this thread share (open_session); null =
/// this one shares nothing.
std::unique_ptr<Reader> open_reader(const std::filesystem::path& path, const ReadVia& via,
                                    const std::shared_ptr<ReaderSession>& session = nullptr);
std::shared_ptr<ReaderSession> open_session(const ReadVia& via);

/// Opens an empty regular file, open for reading and writing already, decorated like open_reader. `path`: for errors.
/// Stages write through OutputFile (io/output_file.h), which calls this.
std::unique_ptr<Writer> open_writer(FileDescriptor file, const std::filesystem::path& path, const WriteVia& via);

/// Pool buffers that a reader or writer with this `via` needs beyond those of its calls.
BufferNeeds buffer_needs(const ReadVia& via);
BufferNeeds buffer_needs(const WriteVia& via);
/// Memory beside the pools that a writer with this `via` may take.
std::uint64_t state_bytes(const WriteVia& via);

}  // namespace millrace::io
