#include "stages/builtin.h"

#include "pipeline/core/stage.h"
#include "stages/basecall_hmm.h"
#include "stages/checksum_writer.h"
#include "stages/command.h"
#include "stages/decode_signal.h"
#include "stages/detect_events.h"
#include "stages/encode_lz4.h"
#include "stages/encode_zstd.h"
#include "stages/events_writer.h"
#include "stages/fast5_reader.h"
#include "stages/fastq_writer.h"
#include "stages/normalize.h"
#include "stages/null_writer.h"
#include "stages/pod5_reader.h"
#include "stages/pod5_writer.h"
#include "stages/raw_reader.h"
#include "stages/raw_writer.h"
#include "stages/sam_writer.h"
#include "stages/signal_qc_writer.h"
#include "stages/slow5_reader.h"
#include "stages/slow5_writer.h"
#include "stages/spin.h"
#include "stages/synthetic_reader.h"
#include "stages/verify_crc32c.h"
#include "stages/verify_signal.h"

namespace millrace {

void add_builtin_stages(Registry& registry) {
  // Sources
  registry.add<Fast5Reader>("fast5_reader", "reads of nanopore FAST5 files, still encoded, one chunk per read");
  registry.add<Pod5Reader>("pod5_reader", "reads of nanopore POD5 files, still encoded, one chunk per read");
  registry.add<RawReader>("raw_reader", "bytes of any files, in blocks");
  registry.add<Slow5Reader>("slow5_reader",
                            "reads of nanopore BLOW5 and SLOW5 files, still encoded, one chunk per read");
  registry.add<SyntheticReader>("synthetic_reader",
                                "chunks made from a seed, at full speed or at an instrument's pace");

  // Transforms
  registry.add<DecodeSignal>("decode_signal", "encoded reads to int16 samples: VBZ, svb-zd, deflate, zstd, ...");
  registry.add<Normalize>("normalize", "scales every read by its median and MAD");
  registry.add<DetectEvents>("detect_events", "cuts every read into events, stretches of one level");
  registry.add<BasecallHmm>("basecall_hmm", "calls the bases of every read by a k-mer hidden Markov model");
  registry.add<EncodeZstd>("encode_zstd", "compresses every chunk to a Zstandard frame");
  registry.add<EncodeLz4>("encode_lz4", "compresses every chunk to an LZ4 frame");
  registry.add<VerifyCrc32c>("verify_crc32c", "holds the bytes of a file against the checksums beside it");
  registry.add<Command>("command", "has another program transform every chunk, through pipes");
  registry.add<Spin>("spin", "lasts a set time per chunk: calibration");

  // Sinks
  registry.add<ChecksumWriter>("checksum_writer", "writes the CRC-32C of what flows by, for verify_crc32c");
  registry.add<EventsWriter>("events_writer", "writes events as a table, one row per event");
  registry.add<FastqWriter>("fastq_writer", "writes called reads to one FASTQ file, plain or BGZF");
  registry.add<NullWriter>("null_writer", "takes everything, keeps nothing");
  registry.add<Pod5Writer>("pod5_writer", "writes reads to one POD5 file");
  registry.add<RawWriter>("raw_writer", "appends the bytes of every chunk to a file");
  registry.add<SamWriter>("sam_writer", "writes called reads to one unaligned SAM, BAM or CRAM file");
  registry.add<SignalQcWriter>("signal_qc_writer", "a TSV row per read: samples, sum, min, max, sha256, ...");
  registry.add<Slow5Writer>("slow5_writer", "writes reads to one BLOW5 or SLOW5 file");
  registry.add<VerifySignal>("verify_signal", "holds the samples of reads against the table of a signal_qc_writer");
}

}  // namespace millrace
