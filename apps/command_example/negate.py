#!/usr/bin/env python3
"""Turns every signal upside down: a program for the stage `command`, see stages/command_protocol.md."""
import array
import struct
import sys

CHUNK, END = 2, 4
receive, send = sys.stdin.buffer, sys.stdout.buffer

while head := receive.read(16):
    magic, kind, length = struct.unpack("<4sIQ", head)
    body = receive.read(length)
    if kind == CHUNK:
        sequence, dtype, rank, zero, attributes, *shape = struct.unpack_from("<QBBHI4Q", body)
        samples = array.array("h", body[48 + attributes :])  # int16, as dtype 3 says
        negated = array.array("h", (min(-sample, 32767) for sample in samples))
        body = body[: 48 + attributes] + negated.tobytes()  # same type, shape and attributes
    send.write(head + body)  # the hello and the end are answered with themselves
    send.flush()
    if kind == END:
        break
