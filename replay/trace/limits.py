"""How large and how deep traces and what they are made from may be. Traces are untrusted, like every fixture."""

__all__ = [
    "BLOB_STRING_BYTES",
    "BLOB_VALUE_BYTES",
    "MAX_BLOB_BYTES",
    "MAX_MESSAGES",
    "MAX_NAME_CHARACTERS",
    "MAX_NESTING",
    "MAX_SPANS",
    "MAX_STEPS",
    "MAX_TRACE_BYTES",
]

MAX_TRACE_BYTES = 64 << 20
MAX_BLOB_BYTES = 64 << 20
MAX_STEPS = 50_000
# Over all steps of a trace, each counted as often as it was sent: a file may say it shorter.
MAX_MESSAGES = 2_000_000
# Of a whole document. orjson writes 254 levels; the writer's own spellings take a few.
MAX_NESTING = 200
MAX_NAME_CHARACTERS = 4096
MAX_SPANS = 200_000

# Text of more UTF-8 bytes than this lies beside the trace where there is a place for it.
BLOB_STRING_BYTES = 16 << 10
# And so does the whole value of a step's member whose JSON is still longer than this.
BLOB_VALUE_BYTES = 256 << 10
