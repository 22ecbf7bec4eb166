import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from replay.cache import command_line_pb2 as _command_line_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TestStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NO_STATUS: _ClassVar[TestStatus]
    PASSED: _ClassVar[TestStatus]
    FLAKY: _ClassVar[TestStatus]
    TIMEOUT: _ClassVar[TestStatus]
    FAILED: _ClassVar[TestStatus]
    INCOMPLETE: _ClassVar[TestStatus]
    REMOTE_FAILURE: _ClassVar[TestStatus]
    FAILED_TO_BUILD: _ClassVar[TestStatus]
    TOOL_HALTED_BEFORE_TESTING: _ClassVar[TestStatus]
NO_STATUS: TestStatus
PASSED: TestStatus
FLAKY: TestStatus
TIMEOUT: TestStatus
FAILED: TestStatus
INCOMPLETE: TestStatus
REMOTE_FAILURE: TestStatus
FAILED_TO_BUILD: TestStatus
TOOL_HALTED_BEFORE_TESTING: TestStatus

class BuildEventId(_message.Message):
    __slots__ = ("progress", "started", "structured_command_line", "configuration", "named_set", "target_completed", "test_result", "test_summary")
    class ProgressId(_message.Message):
        __slots__ = ()
        def __init__(self) -> None: ...
    class BuildStartedId(_message.Message):
        __slots__ = ()
        def __init__(self) -> None: ...
    class StructuredCommandLineId(_message.Message):
        __slots__ = ("command_line_label",)
        COMMAND_LINE_LABEL_FIELD_NUMBER: _ClassVar[int]
        command_line_label: str
        def __init__(self, command_line_label: _Optional[str] = ...) -> None: ...
    class ConfigurationId(_message.Message):
        __slots__ = ("id",)
        ID_FIELD_NUMBER: _ClassVar[int]
        id: str
        def __init__(self, id: _Optional[str] = ...) -> None: ...
    class TargetCompletedId(_message.Message):
        __slots__ = ("label", "configuration", "aspect")
        LABEL_FIELD_NUMBER: _ClassVar[int]
        CONFIGURATION_FIELD_NUMBER: _ClassVar[int]
        ASPECT_FIELD_NUMBER: _ClassVar[int]
        label: str
        configuration: BuildEventId.ConfigurationId
        aspect: str
        def __init__(self, label: _Optional[str] = ..., configuration: _Optional[_Union[BuildEventId.ConfigurationId, _Mapping]] = ..., aspect: _Optional[str] = ...) -> None: ...
    class NamedSetOfFilesId(_message.Message):
        __slots__ = ("id",)
        ID_FIELD_NUMBER: _ClassVar[int]
        id: str
        def __init__(self, id: _Optional[str] = ...) -> None: ...
    class TestResultId(_message.Message):
        __slots__ = ("label", "configuration", "run", "shard", "attempt")
        LABEL_FIELD_NUMBER: _ClassVar[int]
        CONFIGURATION_FIELD_NUMBER: _ClassVar[int]
        RUN_FIELD_NUMBER: _ClassVar[int]
        SHARD_FIELD_NUMBER: _ClassVar[int]
        ATTEMPT_FIELD_NUMBER: _ClassVar[int]
        label: str
        configuration: BuildEventId.ConfigurationId
        run: int
        shard: int
        attempt: int
        def __init__(self, label: _Optional[str] = ..., configuration: _Optional[_Union[BuildEventId.ConfigurationId, _Mapping]] = ..., run: _Optional[int] = ..., shard: _Optional[int] = ..., attempt: _Optional[int] = ...) -> None: ...
    class TestSummaryId(_message.Message):
        __slots__ = ("label", "configuration")
        LABEL_FIELD_NUMBER: _ClassVar[int]
        CONFIGURATION_FIELD_NUMBER: _ClassVar[int]
        label: str
        configuration: BuildEventId.ConfigurationId
        def __init__(self, label: _Optional[str] = ..., configuration: _Optional[_Union[BuildEventId.ConfigurationId, _Mapping]] = ...) -> None: ...
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    STARTED_FIELD_NUMBER: _ClassVar[int]
    STRUCTURED_COMMAND_LINE_FIELD_NUMBER: _ClassVar[int]
    CONFIGURATION_FIELD_NUMBER: _ClassVar[int]
    NAMED_SET_FIELD_NUMBER: _ClassVar[int]
    TARGET_COMPLETED_FIELD_NUMBER: _ClassVar[int]
    TEST_RESULT_FIELD_NUMBER: _ClassVar[int]
    TEST_SUMMARY_FIELD_NUMBER: _ClassVar[int]
    progress: BuildEventId.ProgressId
    started: BuildEventId.BuildStartedId
    structured_command_line: BuildEventId.StructuredCommandLineId
    configuration: BuildEventId.ConfigurationId
    named_set: BuildEventId.NamedSetOfFilesId
    target_completed: BuildEventId.TargetCompletedId
    test_result: BuildEventId.TestResultId
    test_summary: BuildEventId.TestSummaryId
    def __init__(self, progress: _Optional[_Union[BuildEventId.ProgressId, _Mapping]] = ..., started: _Optional[_Union[BuildEventId.BuildStartedId, _Mapping]] = ..., structured_command_line: _Optional[_Union[BuildEventId.StructuredCommandLineId, _Mapping]] = ..., configuration: _Optional[_Union[BuildEventId.ConfigurationId, _Mapping]] = ..., named_set: _Optional[_Union[BuildEventId.NamedSetOfFilesId, _Mapping]] = ..., target_completed: _Optional[_Union[BuildEventId.TargetCompletedId, _Mapping]] = ..., test_result: _Optional[_Union[BuildEventId.TestResultId, _Mapping]] = ..., test_summary: _Optional[_Union[BuildEventId.TestSummaryId, _Mapping]] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("stdout", "stderr")
    STDOUT_FIELD_NUMBER: _ClassVar[int]
    STDERR_FIELD_NUMBER: _ClassVar[int]
    stdout: str
    stderr: str
    def __init__(self, stdout: _Optional[str] = ..., stderr: _Optional[str] = ...) -> None: ...

class BuildStarted(_message.Message):
    __slots__ = ("uuid", "build_tool_version", "command")
    UUID_FIELD_NUMBER: _ClassVar[int]
    BUILD_TOOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    uuid: str
    build_tool_version: str
    command: str
    def __init__(self, uuid: _Optional[str] = ..., build_tool_version: _Optional[str] = ..., command: _Optional[str] = ...) -> None: ...

class WorkspaceStatus(_message.Message):
    __slots__ = ("item",)
    class Item(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ITEM_FIELD_NUMBER: _ClassVar[int]
    item: _containers.RepeatedCompositeFieldContainer[WorkspaceStatus.Item]
    def __init__(self, item: _Optional[_Iterable[_Union[WorkspaceStatus.Item, _Mapping]]] = ...) -> None: ...

class Configuration(_message.Message):
    __slots__ = ("mnemonic", "platform_name", "cpu")
    MNEMONIC_FIELD_NUMBER: _ClassVar[int]
    PLATFORM_NAME_FIELD_NUMBER: _ClassVar[int]
    CPU_FIELD_NUMBER: _ClassVar[int]
    mnemonic: str
    platform_name: str
    cpu: str
    def __init__(self, mnemonic: _Optional[str] = ..., platform_name: _Optional[str] = ..., cpu: _Optional[str] = ...) -> None: ...

class File(_message.Message):
    __slots__ = ("path_prefix", "name", "digest")
    PATH_PREFIX_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    path_prefix: _containers.RepeatedScalarFieldContainer[str]
    name: str
    digest: str
    def __init__(self, path_prefix: _Optional[_Iterable[str]] = ..., name: _Optional[str] = ..., digest: _Optional[str] = ...) -> None: ...

class NamedSetOfFiles(_message.Message):
    __slots__ = ("files", "file_sets")
    FILES_FIELD_NUMBER: _ClassVar[int]
    FILE_SETS_FIELD_NUMBER: _ClassVar[int]
    files: _containers.RepeatedCompositeFieldContainer[File]
    file_sets: _containers.RepeatedCompositeFieldContainer[BuildEventId.NamedSetOfFilesId]
    def __init__(self, files: _Optional[_Iterable[_Union[File, _Mapping]]] = ..., file_sets: _Optional[_Iterable[_Union[BuildEventId.NamedSetOfFilesId, _Mapping]]] = ...) -> None: ...

class OutputGroup(_message.Message):
    __slots__ = ("name", "file_sets")
    NAME_FIELD_NUMBER: _ClassVar[int]
    FILE_SETS_FIELD_NUMBER: _ClassVar[int]
    name: str
    file_sets: _containers.RepeatedCompositeFieldContainer[BuildEventId.NamedSetOfFilesId]
    def __init__(self, name: _Optional[str] = ..., file_sets: _Optional[_Iterable[_Union[BuildEventId.NamedSetOfFilesId, _Mapping]]] = ...) -> None: ...

class TargetComplete(_message.Message):
    __slots__ = ("output_group", "tag", "test_timeout")
    OUTPUT_GROUP_FIELD_NUMBER: _ClassVar[int]
    TAG_FIELD_NUMBER: _ClassVar[int]
    TEST_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    output_group: _containers.RepeatedCompositeFieldContainer[OutputGroup]
    tag: _containers.RepeatedScalarFieldContainer[str]
    test_timeout: _duration_pb2.Duration
    def __init__(self, output_group: _Optional[_Iterable[_Union[OutputGroup, _Mapping]]] = ..., tag: _Optional[_Iterable[str]] = ..., test_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class TestResult(_message.Message):
    __slots__ = ("status", "cached_locally", "test_attempt_duration_millis", "test_attempt_duration", "execution_info")
    class ExecutionInfo(_message.Message):
        __slots__ = ("strategy", "cached_remotely")
        STRATEGY_FIELD_NUMBER: _ClassVar[int]
        CACHED_REMOTELY_FIELD_NUMBER: _ClassVar[int]
        strategy: str
        cached_remotely: bool
        def __init__(self, strategy: _Optional[str] = ..., cached_remotely: _Optional[bool] = ...) -> None: ...
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CACHED_LOCALLY_FIELD_NUMBER: _ClassVar[int]
    TEST_ATTEMPT_DURATION_MILLIS_FIELD_NUMBER: _ClassVar[int]
    TEST_ATTEMPT_DURATION_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_INFO_FIELD_NUMBER: _ClassVar[int]
    status: TestStatus
    cached_locally: bool
    test_attempt_duration_millis: int
    test_attempt_duration: _duration_pb2.Duration
    execution_info: TestResult.ExecutionInfo
    def __init__(self, status: _Optional[_Union[TestStatus, str]] = ..., cached_locally: _Optional[bool] = ..., test_attempt_duration_millis: _Optional[int] = ..., test_attempt_duration: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., execution_info: _Optional[_Union[TestResult.ExecutionInfo, _Mapping]] = ...) -> None: ...

class TestSummary(_message.Message):
    __slots__ = ("overall_status", "attempt_count")
    OVERALL_STATUS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_COUNT_FIELD_NUMBER: _ClassVar[int]
    overall_status: TestStatus
    attempt_count: int
    def __init__(self, overall_status: _Optional[_Union[TestStatus, str]] = ..., attempt_count: _Optional[int] = ...) -> None: ...

class BuildFinished(_message.Message):
    __slots__ = ("exit_code",)
    class ExitCode(_message.Message):
        __slots__ = ("name", "code")
        NAME_FIELD_NUMBER: _ClassVar[int]
        CODE_FIELD_NUMBER: _ClassVar[int]
        name: str
        code: int
        def __init__(self, name: _Optional[str] = ..., code: _Optional[int] = ...) -> None: ...
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    exit_code: BuildFinished.ExitCode
    def __init__(self, exit_code: _Optional[_Union[BuildFinished.ExitCode, _Mapping]] = ...) -> None: ...

class BuildMetrics(_message.Message):
    __slots__ = ("action_summary", "timing_metrics")
    class ActionSummary(_message.Message):
        __slots__ = ("actions_executed", "runner_count")
        class RunnerCount(_message.Message):
            __slots__ = ("name", "count")
            NAME_FIELD_NUMBER: _ClassVar[int]
            COUNT_FIELD_NUMBER: _ClassVar[int]
            name: str
            count: int
            def __init__(self, name: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...
        ACTIONS_EXECUTED_FIELD_NUMBER: _ClassVar[int]
        RUNNER_COUNT_FIELD_NUMBER: _ClassVar[int]
        actions_executed: int
        runner_count: _containers.RepeatedCompositeFieldContainer[BuildMetrics.ActionSummary.RunnerCount]
        def __init__(self, actions_executed: _Optional[int] = ..., runner_count: _Optional[_Iterable[_Union[BuildMetrics.ActionSummary.RunnerCount, _Mapping]]] = ...) -> None: ...
    class TimingMetrics(_message.Message):
        __slots__ = ("wall_time_in_ms",)
        WALL_TIME_IN_MS_FIELD_NUMBER: _ClassVar[int]
        wall_time_in_ms: int
        def __init__(self, wall_time_in_ms: _Optional[int] = ...) -> None: ...
    ACTION_SUMMARY_FIELD_NUMBER: _ClassVar[int]
    TIMING_METRICS_FIELD_NUMBER: _ClassVar[int]
    action_summary: BuildMetrics.ActionSummary
    timing_metrics: BuildMetrics.TimingMetrics
    def __init__(self, action_summary: _Optional[_Union[BuildMetrics.ActionSummary, _Mapping]] = ..., timing_metrics: _Optional[_Union[BuildMetrics.TimingMetrics, _Mapping]] = ...) -> None: ...

class BuildEvent(_message.Message):
    __slots__ = ("id", "last_message", "progress", "started", "structured_command_line", "workspace_status", "configuration", "named_set_of_files", "completed", "test_result", "test_summary", "finished", "build_metrics")
    ID_FIELD_NUMBER: _ClassVar[int]
    LAST_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    STARTED_FIELD_NUMBER: _ClassVar[int]
    STRUCTURED_COMMAND_LINE_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_STATUS_FIELD_NUMBER: _ClassVar[int]
    CONFIGURATION_FIELD_NUMBER: _ClassVar[int]
    NAMED_SET_OF_FILES_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_FIELD_NUMBER: _ClassVar[int]
    TEST_RESULT_FIELD_NUMBER: _ClassVar[int]
    TEST_SUMMARY_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    BUILD_METRICS_FIELD_NUMBER: _ClassVar[int]
    id: BuildEventId
    last_message: bool
    progress: Progress
    started: BuildStarted
    structured_command_line: _command_line_pb2.CommandLine
    workspace_status: WorkspaceStatus
    configuration: Configuration
    named_set_of_files: NamedSetOfFiles
    completed: TargetComplete
    test_result: TestResult
    test_summary: TestSummary
    finished: BuildFinished
    build_metrics: BuildMetrics
    def __init__(self, id: _Optional[_Union[BuildEventId, _Mapping]] = ..., last_message: _Optional[bool] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ..., started: _Optional[_Union[BuildStarted, _Mapping]] = ..., structured_command_line: _Optional[_Union[_command_line_pb2.CommandLine, _Mapping]] = ..., workspace_status: _Optional[_Union[WorkspaceStatus, _Mapping]] = ..., configuration: _Optional[_Union[Configuration, _Mapping]] = ..., named_set_of_files: _Optional[_Union[NamedSetOfFiles, _Mapping]] = ..., completed: _Optional[_Union[TargetComplete, _Mapping]] = ..., test_result: _Optional[_Union[TestResult, _Mapping]] = ..., test_summary: _Optional[_Union[TestSummary, _Mapping]] = ..., finished: _Optional[_Union[BuildFinished, _Mapping]] = ..., build_metrics: _Optional[_Union[BuildMetrics, _Mapping]] = ...) -> None: ...
