#!/usr/bin/env python3
"""Makes the FAST5 files beside this script (needs h5py). Sample i of the read with seed s is (37 i + 101 s) % 1021 - 200.

layouts.fast5    multi-read, one read per storage layout and coding; names of the reads say which
userblock.fast5  the same behind a user block of 512 bytes
latest.fast5     the same in the newest file layout (other groups, links and chunk index)
scattered.fast5  a read whose two pieces lie far apart
single.fast5     single-read of the old kind: attributes of unusual types, some missing
varieties.fast5  multi-read: run groups shared by links and copied, attributes as strings of every kind and numbers of
                 every width, missing ones
events.fast5     single-read of the oldest kind: events, but no raw signal
"""
import os
import zlib

import h5py
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def signal(seed, count):
    return ((37 * np.arange(count) + 101 * seed) % 1021 - 200).astype("<i2")


def uuid(seed):
    return "00000000-0000-4000-8000-%012d" % seed


def add_read(f, seed, count, **how):
    g = f.create_group("read_" + uuid(seed))
    g.attrs["run_id"] = np.bytes_("run")
    raw = g.create_group("Raw")
    raw.attrs["read_id"] = np.bytes_(uuid(seed))
    raw.attrs["read_number"] = np.int32(seed)
    raw.attrs["start_time"] = np.uint64(1000 * seed)
    raw.attrs["duration"] = np.uint32(count)
    raw.attrs["median_before"] = np.float64(200.5)
    end_reasons = h5py.enum_dtype({"unknown": 0, "signal_positive": 5}, basetype="u1")
    raw.attrs.create("end_reason", 5, dtype=end_reasons)
    channel = g.create_group("channel_id")
    channel.attrs["channel_number"] = np.bytes_(str(seed))
    for name, value in {"digitisation": 8192.0, "offset": 6.0, "range": 1440.75, "sampling_rate": 4000.0}.items():
        channel.attrs[name] = value
    raw.create_dataset("Signal", data=signal(seed, count), **how)
    return raw


def add_layouts(f):
    f.attrs["file_version"] = "2.2"
    add_read(f, 1, 300)
    raw = add_read(f, 2, 40)
    del raw["Signal"]
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((40,))
    compact = h5py.h5d.create(raw.id, b"Signal", h5py.h5t.STD_I16LE, space, properties)
    compact.write(h5py.h5s.ALL, h5py.h5s.ALL, signal(2, 40))
    add_read(f, 3, 1000, chunks=(1000,), compression="gzip", compression_opts=1)
    add_read(f, 4, 1050, chunks=(200,), compression="gzip", compression_opts=1)
    add_read(f, 5, 1050, chunks=(200,), compression="gzip", shuffle=True, fletcher32=True)
    add_read(f, 6, 333, chunks=(100,), fletcher32=True)
    add_read(f, 7, 100, chunks=(5000,), compression="gzip", maxshape=(None,))
    add_read(f, 8, 0, chunks=(10,), compression="gzip", maxshape=(None,))
    raw = add_read(f, 9, 250, chunks=(100,), compression="gzip")  # piece 1 is stored as it is: filter mask 1
    padded = np.zeros(300, "<i2")
    padded[:250] = signal(9, 250)
    raw["Signal"].id.write_direct_chunk((100,), padded[100:200].tobytes(), 1)
    raw["Signal"].id.write_direct_chunk((0,), zlib.compress(padded[:100].tobytes(), 9), 0)


def make_multi(name, **how):
    with h5py.File(os.path.join(HERE, name), "w", **how) as f:
        add_layouts(f)


def make_single(name):
    with h5py.File(os.path.join(HERE, name), "w") as f:
        f.attrs["file_version"] = 0.6
        key = f.create_group("UniqueGlobalKey")
        channel = key.create_group("channel_id")
        channel.attrs["channel_number"] = np.int64(77)
        channel.attrs["digitisation"] = "8192"
        channel.attrs["range"] = np.float32(1440.5)
        channel.attrs["offset"] = np.int32(-3)
        key.create_group("tracking_id").attrs["run_id"] = "run of text"
        key["tracking_id"].attrs["list"] = np.arange(3)
        raw = f.create_group("Raw/Reads/Read_12")
        raw.attrs["read_id"] = "single-read"
        raw.attrs["read_number"] = "12"
        raw.attrs["start_time"] = 5.0
        raw.create_dataset("Signal", data=signal(12, 64), maxshape=(None,), chunks=(64,))


make_multi("layouts.fast5")
make_multi("userblock.fast5", userblock_size=512)
make_multi("latest.fast5", libver="latest")
make_single("single.fast5")


def make_scattered(name):
    """One read in two chunks with 100 kB of other data between them."""
    with h5py.File(os.path.join(HERE, name), "w") as f:
        f.attrs["file_version"] = "2.2"
        raw = f.create_group("read_" + uuid(1) + "/Raw")
        raw.attrs["read_id"] = np.bytes_(uuid(1))
        signal_data = signal(1, 400)
        dataset = raw.create_dataset("Signal", (400,), "<i2", chunks=(200,), compression="gzip")
        dataset.id.write_direct_chunk((200,), zlib.compress(signal_data[200:].tobytes(), 1), 0)
        f.flush()
        f.create_dataset("filler", data=np.zeros(100000, "u1"))
        f.flush()
        dataset.id.write_direct_chunk((0,), zlib.compress(signal_data[:200].tobytes(), 1), 0)


make_scattered("scattered.fast5")


def make_varieties(name):
    fixed = np.bytes_
    variable = h5py.string_dtype("utf-8")
    ascii_padded = h5py.string_dtype("ascii", 40)
    reasons = h5py.enum_dtype({"unknown": 0, "partial": 1, "mux_change": 2, "signal_negative": 6}, basetype="u1")

    def tracking(group, **more):
        facts = {"run_id": "run-1", "device_id": "MN1", "exp_start_time": "2019-05-13T11:11:43Z", "asic_temp": "31.5"}
        for key, value in {**facts, **more}.items():
            group.attrs[key] = fixed(value) if isinstance(value, str) else value

    with h5py.File(os.path.join(HERE, name), "w") as f:
        f.attrs.create("file_version", "2.3", dtype=variable)
        # 1: as MinKNOW writes it; the strings of context_tags have no fixed length.
        raw = add_read(f, 1, 20)
        first = f["read_" + uuid(1)]
        first.attrs["pore_type"] = fixed("r9.4.1")
        raw.attrs["start_mux"] = np.uint8(3)
        tracking(first.create_group("tracking_id"))
        context = first.create_group("context_tags")
        context.attrs.create("sample_frequency", "4000", dtype=variable)
        context.attrs.create("sequencing_kit", "sqk-lsk109", dtype=variable)
        context.attrs["empty"] = fixed("")
        # 2: the groups of 1 by links; numbers as texts and in other widths.
        raw = add_read(f, 2, 20)
        second = f["read_" + uuid(2)]
        second["tracking_id"] = first["tracking_id"]
        second["context_tags"] = h5py.SoftLink("/read_" + uuid(1) + "/context_tags")
        second.attrs.create("pore_type", "r10", dtype=variable)
        for key in ("read_number", "start_time", "duration", "median_before", "end_reason"):
            del raw.attrs[key]
        raw.attrs["read_number"] = "2"
        raw.attrs["start_time"] = np.int16(2000)
        raw.attrs["duration"] = np.float32(20)
        raw.attrs["start_mux"] = np.int64(4)
        raw.attrs["median_before"] = "200.25"
        raw.attrs["end_reason"] = np.uint8(5)
        channel = second["channel_id"]
        for key in list(channel.attrs):
            del channel.attrs[key]
        channel.attrs["channel_number"] = np.int32(112)
        channel.attrs["digitisation"] = np.int16(8192)
        channel.attrs["offset"] = np.int8(-7)
        channel.attrs["range"] = np.float32(1440.5)
        channel.attrs.create("sampling_rate", "4000", dtype=ascii_padded)
        # 3: a copy of the groups of 1; no sampling_rate, no offset; an end_reason that is a text.
        raw = add_read(f, 3, 20)
        third = f["read_" + uuid(3)]
        f.copy(first["tracking_id"], third, "tracking_id")
        f.copy(first["context_tags"], third, "context_tags")
        del third["channel_id"].attrs["sampling_rate"]
        del third["channel_id"].attrs["offset"]
        del raw.attrs["end_reason"]
        raw.attrs.create("end_reason", "mux_change", dtype=variable)
        # 4: another run, whose facts are numbers; a name of the enumeration that SLOW5's own list does not have.
        raw = add_read(f, 4, 20)
        fourth = f["read_" + uuid(4)]
        fourth.attrs["run_id"] = fixed("run-4")
        tracking(fourth.create_group("tracking_id"), run_id="run-4", asic_temp=np.float64(30.25), asic_id=np.uint32(7))
        fourth["tracking_id"].attrs["list"] = np.arange(3)
        raw.attrs.create("end_reason", 1, dtype=reasons)
        # 5: nothing but the signal and its name.
        raw = add_read(f, 5, 20)
        fifth = f["read_" + uuid(5)]
        del fifth["channel_id"], fifth.attrs["run_id"]
        for key in list(raw.attrs):
            if key != "read_id":
                del raw.attrs[key]
        for read in (1, 2, 3):
            f["read_" + uuid(read)].attrs["run_id"] = fixed("run-1")
        raw.attrs["end_reason"] = np.int64(99)


def make_events(name):
    with h5py.File(os.path.join(HERE, name), "w") as f:
        f.attrs["file_version"] = 0.4
        f.create_group("UniqueGlobalKey/tracking_id").attrs["run_id"] = "run"
        f.create_dataset("Analyses/EventDetection_000/Reads/Read_1/Events", data=np.zeros(3))


make_varieties("varieties.fast5")
make_events("events.fast5")
