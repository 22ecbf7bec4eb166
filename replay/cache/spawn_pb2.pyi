import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Digest(_message.Message):
    __slots__ = ("hash", "size_bytes")
    HASH_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    hash: str
    size_bytes: int
    def __init__(self, hash: _Optional[str] = ..., size_bytes: _Optional[int] = ...) -> None: ...

class EnvironmentVariable(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class Platform(_message.Message):
    __slots__ = ("properties",)
    class Property(_message.Message):
        __slots__ = ("name", "value")
        NAME_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        name: str
        value: str
        def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    properties: _containers.RepeatedCompositeFieldContainer[Platform.Property]
    def __init__(self, properties: _Optional[_Iterable[_Union[Platform.Property, _Mapping]]] = ...) -> None: ...

class SpawnMetrics(_message.Message):
    __slots__ = ("total_time",)
    TOTAL_TIME_FIELD_NUMBER: _ClassVar[int]
    total_time: _duration_pb2.Duration
    def __init__(self, total_time: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ExecLogEntry(_message.Message):
    __slots__ = ("id", "invocation", "file", "directory", "unresolved_symlink", "input_set", "spawn", "symlink_entry_set", "runfiles_tree")
    class Invocation(_message.Message):
        __slots__ = ("hash_function_name", "id")
        HASH_FUNCTION_NAME_FIELD_NUMBER: _ClassVar[int]
        ID_FIELD_NUMBER: _ClassVar[int]
        hash_function_name: str
        id: str
        def __init__(self, hash_function_name: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...
    class File(_message.Message):
        __slots__ = ("path", "digest")
        PATH_FIELD_NUMBER: _ClassVar[int]
        DIGEST_FIELD_NUMBER: _ClassVar[int]
        path: str
        digest: Digest
        def __init__(self, path: _Optional[str] = ..., digest: _Optional[_Union[Digest, _Mapping]] = ...) -> None: ...
    class Directory(_message.Message):
        __slots__ = ("path", "files")
        PATH_FIELD_NUMBER: _ClassVar[int]
        FILES_FIELD_NUMBER: _ClassVar[int]
        path: str
        files: _containers.RepeatedCompositeFieldContainer[ExecLogEntry.File]
        def __init__(self, path: _Optional[str] = ..., files: _Optional[_Iterable[_Union[ExecLogEntry.File, _Mapping]]] = ...) -> None: ...
    class UnresolvedSymlink(_message.Message):
        __slots__ = ("path", "target_path")
        PATH_FIELD_NUMBER: _ClassVar[int]
        TARGET_PATH_FIELD_NUMBER: _ClassVar[int]
        path: str
        target_path: str
        def __init__(self, path: _Optional[str] = ..., target_path: _Optional[str] = ...) -> None: ...
    class InputSet(_message.Message):
        __slots__ = ("transitive_set_ids", "input_ids")
        TRANSITIVE_SET_IDS_FIELD_NUMBER: _ClassVar[int]
        INPUT_IDS_FIELD_NUMBER: _ClassVar[int]
        transitive_set_ids: _containers.RepeatedScalarFieldContainer[int]
        input_ids: _containers.RepeatedScalarFieldContainer[int]
        def __init__(self, transitive_set_ids: _Optional[_Iterable[int]] = ..., input_ids: _Optional[_Iterable[int]] = ...) -> None: ...
    class SymlinkEntrySet(_message.Message):
        __slots__ = ("direct_entries", "transitive_set_ids")
        class DirectEntriesEntry(_message.Message):
            __slots__ = ("key", "value")
            KEY_FIELD_NUMBER: _ClassVar[int]
            VALUE_FIELD_NUMBER: _ClassVar[int]
            key: str
            value: int
            def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
        DIRECT_ENTRIES_FIELD_NUMBER: _ClassVar[int]
        TRANSITIVE_SET_IDS_FIELD_NUMBER: _ClassVar[int]
        direct_entries: _containers.ScalarMap[str, int]
        transitive_set_ids: _containers.RepeatedScalarFieldContainer[int]
        def __init__(self, direct_entries: _Optional[_Mapping[str, int]] = ..., transitive_set_ids: _Optional[_Iterable[int]] = ...) -> None: ...
    class RunfilesTree(_message.Message):
        __slots__ = ("path", "input_set_id", "symlinks_id", "root_symlinks_id", "empty_files", "repo_mapping_manifest", "legacy_external_runfiles")
        PATH_FIELD_NUMBER: _ClassVar[int]
        INPUT_SET_ID_FIELD_NUMBER: _ClassVar[int]
        SYMLINKS_ID_FIELD_NUMBER: _ClassVar[int]
        ROOT_SYMLINKS_ID_FIELD_NUMBER: _ClassVar[int]
        EMPTY_FILES_FIELD_NUMBER: _ClassVar[int]
        REPO_MAPPING_MANIFEST_FIELD_NUMBER: _ClassVar[int]
        LEGACY_EXTERNAL_RUNFILES_FIELD_NUMBER: _ClassVar[int]
        path: str
        input_set_id: int
        symlinks_id: int
        root_symlinks_id: int
        empty_files: _containers.RepeatedScalarFieldContainer[str]
        repo_mapping_manifest: ExecLogEntry.File
        legacy_external_runfiles: bool
        def __init__(self, path: _Optional[str] = ..., input_set_id: _Optional[int] = ..., symlinks_id: _Optional[int] = ..., root_symlinks_id: _Optional[int] = ..., empty_files: _Optional[_Iterable[str]] = ..., repo_mapping_manifest: _Optional[_Union[ExecLogEntry.File, _Mapping]] = ..., legacy_external_runfiles: _Optional[bool] = ...) -> None: ...
    class Output(_message.Message):
        __slots__ = ("invalid_output_path", "output_id")
        INVALID_OUTPUT_PATH_FIELD_NUMBER: _ClassVar[int]
        OUTPUT_ID_FIELD_NUMBER: _ClassVar[int]
        invalid_output_path: str
        output_id: int
        def __init__(self, invalid_output_path: _Optional[str] = ..., output_id: _Optional[int] = ...) -> None: ...
    class Spawn(_message.Message):
        __slots__ = ("args", "env_vars", "platform", "input_set_id", "tool_set_id", "outputs", "target_label", "mnemonic", "exit_code", "status", "runner", "cache_hit", "cacheable", "remote_cacheable", "digest", "timeout_millis", "metrics")
        ARGS_FIELD_NUMBER: _ClassVar[int]
        ENV_VARS_FIELD_NUMBER: _ClassVar[int]
        PLATFORM_FIELD_NUMBER: _ClassVar[int]
        INPUT_SET_ID_FIELD_NUMBER: _ClassVar[int]
        TOOL_SET_ID_FIELD_NUMBER: _ClassVar[int]
        OUTPUTS_FIELD_NUMBER: _ClassVar[int]
        TARGET_LABEL_FIELD_NUMBER: _ClassVar[int]
        MNEMONIC_FIELD_NUMBER: _ClassVar[int]
        EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
        STATUS_FIELD_NUMBER: _ClassVar[int]
        RUNNER_FIELD_NUMBER: _ClassVar[int]
        CACHE_HIT_FIELD_NUMBER: _ClassVar[int]
        CACHEABLE_FIELD_NUMBER: _ClassVar[int]
        REMOTE_CACHEABLE_FIELD_NUMBER: _ClassVar[int]
        DIGEST_FIELD_NUMBER: _ClassVar[int]
        TIMEOUT_MILLIS_FIELD_NUMBER: _ClassVar[int]
        METRICS_FIELD_NUMBER: _ClassVar[int]
        args: _containers.RepeatedScalarFieldContainer[str]
        env_vars: _containers.RepeatedCompositeFieldContainer[EnvironmentVariable]
        platform: Platform
        input_set_id: int
        tool_set_id: int
        outputs: _containers.RepeatedCompositeFieldContainer[ExecLogEntry.Output]
        target_label: str
        mnemonic: str
        exit_code: int
        status: str
        runner: str
        cache_hit: bool
        cacheable: bool
        remote_cacheable: bool
        digest: Digest
        timeout_millis: int
        metrics: SpawnMetrics
        def __init__(self, args: _Optional[_Iterable[str]] = ..., env_vars: _Optional[_Iterable[_Union[EnvironmentVariable, _Mapping]]] = ..., platform: _Optional[_Union[Platform, _Mapping]] = ..., input_set_id: _Optional[int] = ..., tool_set_id: _Optional[int] = ..., outputs: _Optional[_Iterable[_Union[ExecLogEntry.Output, _Mapping]]] = ..., target_label: _Optional[str] = ..., mnemonic: _Optional[str] = ..., exit_code: _Optional[int] = ..., status: _Optional[str] = ..., runner: _Optional[str] = ..., cache_hit: _Optional[bool] = ..., cacheable: _Optional[bool] = ..., remote_cacheable: _Optional[bool] = ..., digest: _Optional[_Union[Digest, _Mapping]] = ..., timeout_millis: _Optional[int] = ..., metrics: _Optional[_Union[SpawnMetrics, _Mapping]] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    INVOCATION_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    UNRESOLVED_SYMLINK_FIELD_NUMBER: _ClassVar[int]
    INPUT_SET_FIELD_NUMBER: _ClassVar[int]
    SPAWN_FIELD_NUMBER: _ClassVar[int]
    SYMLINK_ENTRY_SET_FIELD_NUMBER: _ClassVar[int]
    RUNFILES_TREE_FIELD_NUMBER: _ClassVar[int]
    id: int
    invocation: ExecLogEntry.Invocation
    file: ExecLogEntry.File
    directory: ExecLogEntry.Directory
    unresolved_symlink: ExecLogEntry.UnresolvedSymlink
    input_set: ExecLogEntry.InputSet
    spawn: ExecLogEntry.Spawn
    symlink_entry_set: ExecLogEntry.SymlinkEntrySet
    runfiles_tree: ExecLogEntry.RunfilesTree
    def __init__(self, id: _Optional[int] = ..., invocation: _Optional[_Union[ExecLogEntry.Invocation, _Mapping]] = ..., file: _Optional[_Union[ExecLogEntry.File, _Mapping]] = ..., directory: _Optional[_Union[ExecLogEntry.Directory, _Mapping]] = ..., unresolved_symlink: _Optional[_Union[ExecLogEntry.UnresolvedSymlink, _Mapping]] = ..., input_set: _Optional[_Union[ExecLogEntry.InputSet, _Mapping]] = ..., spawn: _Optional[_Union[ExecLogEntry.Spawn, _Mapping]] = ..., symlink_entry_set: _Optional[_Union[ExecLogEntry.SymlinkEntrySet, _Mapping]] = ..., runfiles_tree: _Optional[_Union[ExecLogEntry.RunfilesTree, _Mapping]] = ...) -> None: ...
