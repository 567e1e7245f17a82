"""Prints what python3-slow5 (Debian's libslow5) reads in a BLOW5 or SLOW5 file: one line of JSON per read, and a last one
with the attributes of every read group."""
import json
import sys

import pyslow5

if len(sys.argv) > 1:
    file = pyslow5.Open(sys.argv[1], "r")
    groups = 1
    for read in file.seq_reads(pA=False, aux="all"):
        groups = max(groups, read["read_group"] + 1)
        read["signal"] = [int(sample) for sample in read["signal"]]
        print(json.dumps({key: value.item() if hasattr(value, "item") else value for key, value in read.items()}))
    print(json.dumps([file.get_all_headers(group) for group in range(groups)]))
