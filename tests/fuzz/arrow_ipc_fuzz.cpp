// Arrow files of any content, read through: schema, dictionaries, every batch and every value that can be asked for.

#include <cstddef>
#include <cstdint>

#include "io/arrow_ipc.h"
#include "io/arrow_values.h"
#include "pipeline/core/error.h"
#include "tests/support/memory_reader.h"

namespace {

using namespace millrace;

void read_array(const io::ArrowFile& file, const io::ArrowBatch& batch, const io::ArrowField& field,
                const io::ArrowArray& array) {
  if (array.is_index || field.kind == io::ArrowKind::integer) {
    try {
      file.unsigned_values(batch, field, array);
    } catch (const Error&) {  // a negative one: the rest may go on
    }
  }
  if (array.is_index) {
    file.dictionary(field);
    return;
  }
  if (io::is_plain(field)) file.values(batch, field, array);
  if (field.kind == io::ArrowKind::list || field.kind == io::ArrowKind::map || field.kind == io::ArrowKind::binary) {
    file.offsets(batch, field, array);
  }
  for (std::size_t i = 0; i < array.children.size(); ++i) read_array(file, batch, field.children[i], array.children[i]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  test::MemoryReader reader({reinterpret_cast<const std::byte*>(data), size});
  try {
    const io::ArrowFile file(reader, {0, size});
    for (std::size_t i = 0; i < file.batches(); ++i) {
      const io::ArrowBatch batch = file.batch(i, i % 2 == 0 ? io::ArrowFile::Body::loaded : io::ArrowFile::Body::left);
      for (std::size_t column = 0; column < file.fields().size(); ++column) {
        read_array(file, batch, file.fields()[column], batch.columns[column]);
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
