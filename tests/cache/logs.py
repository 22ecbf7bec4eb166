"""Logs and build events as Bazel writes them, made of the messages that are read."""

from collections.abc import Mapping, Sequence
from compression import zstd
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from replay.cache.build_event_stream_pb2 import BuildEvent
from replay.cache.spawn_pb2 import ExecLogEntry

__all__ = ["Log", "delimited", "events", "write_events"]

OUT = "bazel-out/k8-fastbuild/bin"


def delimited(messages: Sequence[Message]) -> bytes:
    """Messages, each behind its length."""
    return b"".join(_varint(message.ByteSize()) + message.SerializeToString() for message in messages)


def _varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes((value & 0x7F | 0x80,))
        value >>= 7
    return out + bytes((value,))


class Log:
    """A compact execution log. Methods give the number of the entry that they add."""

    def __init__(self) -> None:
        invocation = ExecLogEntry.Invocation(hash_function_name="SHA-256", id="an-invocation")
        self.entries = [ExecLogEntry(invocation=invocation)]
        self._number = 0

    def add(self, **entry: Any) -> int:
        """Any entry with an id of its own."""
        self._number += 1
        self.entries.append(ExecLogEntry(id=self._number, **entry))
        return self._number

    def file(self, path: str, content: str = "same") -> int:
        """A file; equal content, equal digest."""
        digest = {"hash": f"digest-of-{content}", "size_bytes": len(content)} if content else None
        return self.add(file={"path": path, "digest": digest})

    def input_set(self, items: Sequence[int] = (), sets: Sequence[int] = ()) -> int:
        """A set of inputs."""
        return self.add(input_set={"input_ids": items, "transitive_set_ids": sets})

    def spawn(self, label: str, mnemonic: str, inputs: int, output: int = 0, **more: Any) -> None:
        """An action that is no test."""
        fields = {
            "args": ["bin/compile", "-o"],
            "target_label": label,
            "mnemonic": mnemonic,
            "input_set_id": inputs,
            "outputs": [{"output_id": output}],
            "runner": "linux-sandbox",
            "cacheable": True,
            "remote_cacheable": True,
        }
        self.entries.append(ExecLogEntry(spawn=fields | more))

    def test(self, label: str, inputs: int, **more: Any) -> None:
        """A test that was executed, as with a cache."""
        extra: Mapping[str, str] = more.pop("env", {})
        name = label.rpartition(":")[2]
        env = {"TEST_TARGET": label, "TEST_TIMEOUT": "60", "RUNFILES_DIR": f"{OUT}/{name}.runfiles", **extra}
        fields: dict[str, Any] = {
            "args": ["external/bazel_tools/tools/test/test-setup.sh", name],
            "env_vars": [{"name": key, "value": value} for key, value in env.items()],
            "outputs": [{"invalid_output_path": f"bazel-out/k8-fastbuild/testlogs/{name}/test.log"}],
            "digest": {"hash": f"key-of-{name}", "size_bytes": 1},
            "timeout_millis": 60000,
        }
        self.spawn(label, "TestRunner", inputs, **(fields | more))

    def packed(self) -> bytes:
        """The bytes of the file."""
        return zstd.compress(delimited(self.entries))

    def write(self, path: Path) -> str:
        """Write the file and give its name."""
        path.write_bytes(self.packed())
        return str(path)


def events(
    tests: Mapping[str, Mapping[str, Any]],
    options: Mapping[str, Any] | None = None,
    stderr: Sequence[str] = (),
    tags: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
) -> list[BuildEvent]:
    """The events of a run. tests: label -> fields of its result; options: name -> value, with what it has an effect on."""
    given = {"disk_cache": ("/cache", ["AFFECTS_OUTPUTS"])} | dict(options or {})
    option_list = [
        {"option_name": name, "option_value": value, "effect_tags": effects}
        for name, (value, effects) in given.items()
    ]
    line = {
        "command_line_label": "canonical",
        "sections": [{"section_label": "command options", "option_list": {"option": option_list}}],
    }
    found: list[dict[str, Any]] = [
        {"id": {"started": {}}, "started": {"uuid": "u", "build_tool_version": "7.7.1", "command": "test"}},
        {
            "id": {"structured_command_line": {"command_line_label": "canonical"}},
            "structured_command_line": line,
        },
        {"id": {"configuration": {"id": "c"}}, "configuration": {"mnemonic": "k8-fastbuild"}},
        *({"id": {"progress": {}}, "progress": {"stderr": text}} for text in stderr),
        {
            "id": {"named_set": {"id": "0"}},
            "named_set_of_files": {
                "files": [{"name": name, "digest": digest} for name, digest in (files or {}).items()]
            },
        },
    ]
    for label, result in tests.items():
        completed = {
            "tag": tags,
            "test_timeout": {"seconds": 60},
            "output_group": [{"name": "default", "file_sets": [{"id": "0"}]}],
        }
        found.append({"id": {"target_completed": {"label": label}}, "completed": completed})
        fields = {"status": "PASSED", "test_attempt_duration_millis": 1500} | dict(result)
        found.append(
            {
                "id": {
                    "test_result": {
                        "label": label,
                        "run": 1,
                        "shard": 1,
                        "attempt": 1,
                        "configuration": {"id": "c"},
                    }
                },
                "test_result": fields,
            }
        )
    found.append(
        {"id": {"progress": {}}, "finished": {"exit_code": {"name": "SUCCESS"}}, "last_message": True}
    )
    return [BuildEvent(**fields) for fields in found]


def write_events(path: Path, made: Sequence[BuildEvent]) -> str:
    """Write a binary file of events and give its name."""
    path.write_bytes(delimited(made))
    return str(path)
