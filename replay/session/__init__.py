"""Session logs: reading them strictly, the packed layout, the canonical form, writing them (design 4.1).

Pure: bytes in, values out. Start with read_log and SessionLog; an agent that persists its own log wants LogWriter.
"""

from replay.session.checksum import model_checksum
from replay.session.chunk import BLOCK_TYPES, CHUNK_TYPES, DELTA_FIELD, PACKED_DELTA, chunk_complaint, shown
from replay.session.compression import decompress
from replay.session.diagnosis import MAX_FILE_BYTES, MAX_LINE_BYTES, MAX_NESTING, json_path, repeated_key
from replay.session.log import Header, Row, SessionLog
from replay.session.packing import count_events, expand, expand_line, pack, unpack
from replay.session.place import line_of, value_lines
from replay.session.reader import read_log
from replay.session.writer import LogWriter, canonical_form, encode_line, encode_log

__all__ = [
    "BLOCK_TYPES",
    "CHUNK_TYPES",
    "DELTA_FIELD",
    "MAX_FILE_BYTES",
    "MAX_LINE_BYTES",
    "MAX_NESTING",
    "PACKED_DELTA",
    "Header",
    "LogWriter",
    "Row",
    "SessionLog",
    "canonical_form",
    "chunk_complaint",
    "count_events",
    "decompress",
    "encode_line",
    "encode_log",
    "expand",
    "expand_line",
    "json_path",
    "line_of",
    "model_checksum",
    "pack",
    "read_log",
    "repeated_key",
    "shown",
    "unpack",
    "value_lines",
]
