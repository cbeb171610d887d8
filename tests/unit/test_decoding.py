"""Decoders are made one at a time, whatever thread asks first."""

import subprocess
import sys

_MANY_TYPES = """
import sys
from dataclasses import field, make_dataclass
from threading import Barrier, Thread

import msgspec

from hive_mind.model.decoding import converted, json_decoder, msgpack_decoder

sys.setswitchinterval(1e-6)
READERS = [
    lambda kind: json_decoder(kind)(b'{"b0": {"a3": 7}}'),
    lambda kind: msgpack_decoder(kind)(msgspec.msgpack.encode({"b0": {"a3": 7}})),
    lambda kind: converted({"b0": {"a3": 7}}, kind),
]


def struct(name, fields):
    return msgspec.defstruct(name, [(key, kind, msgspec.field(default_factory=kind)) for key, kind in fields])


def dataclass(name, fields):
    return make_dataclass(name, [(key, kind, field(default_factory=kind)) for key, kind in fields])


for number in range(120):
    make = (struct, dataclass)[number % 2]
    inner = make(f"Inner{number}", [(f"a{key}", int) for key in range(8)])
    outer = make(f"Outer{number}", [(f"b{key}", inner) for key in range(8)])
    together, read = Barrier(6), []

    def reading(reader):
        together.wait()
        read.append(reader(outer).b0.a3)

    threads = [Thread(target=reading, args=(reader,)) for reader in READERS * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read == [7] * 6, read
"""


def test_threads_that_ask_for_a_decoder_of_one_type_at_once_each_get_it() -> None:
    """The interpreter itself crashed (in some tenth of all types) when msgspec was asked without a lock."""
    done = subprocess.run([sys.executable, "-c", _MANY_TYPES], capture_output=True, timeout=60, check=False, text=True)

    assert (done.returncode, done.stderr) == (0, "")
