from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Result(_message.Message):
    __slots__ = ("version", "scenario", "label", "mode", "exit_code", "first_line", "place", "fix", "cases", "warnings", "agent", "timing", "artefacts", "fixture")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SCENARIO_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    FIRST_LINE_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    FIX_FIELD_NUMBER: _ClassVar[int]
    CASES_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    ARTEFACTS_FIELD_NUMBER: _ClassVar[int]
    FIXTURE_FIELD_NUMBER: _ClassVar[int]
    version: int
    scenario: str
    label: str
    mode: str
    exit_code: int
    first_line: str
    place: str
    fix: str
    cases: _containers.RepeatedCompositeFieldContainer[Case]
    warnings: _containers.RepeatedScalarFieldContainer[str]
    agent: Agent
    timing: Timing
    artefacts: _containers.RepeatedScalarFieldContainer[str]
    fixture: _containers.RepeatedCompositeFieldContainer[FixtureFile]
    def __init__(self, version: _Optional[int] = ..., scenario: _Optional[str] = ..., label: _Optional[str] = ..., mode: _Optional[str] = ..., exit_code: _Optional[int] = ..., first_line: _Optional[str] = ..., place: _Optional[str] = ..., fix: _Optional[str] = ..., cases: _Optional[_Iterable[_Union[Case, _Mapping]]] = ..., warnings: _Optional[_Iterable[str]] = ..., agent: _Optional[_Union[Agent, _Mapping]] = ..., timing: _Optional[_Union[Timing, _Mapping]] = ..., artefacts: _Optional[_Iterable[str]] = ..., fixture: _Optional[_Iterable[_Union[FixtureFile, _Mapping]]] = ...) -> None: ...

class FixtureFile(_message.Message):
    __slots__ = ("name", "sha256")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    name: str
    sha256: str
    def __init__(self, name: _Optional[str] = ..., sha256: _Optional[str] = ...) -> None: ...

class Case(_message.Message):
    __slots__ = ("surface", "verdict", "message", "path", "expected", "actual")
    class Verdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        UNKNOWN: _ClassVar[Case.Verdict]
        PASSED: _ClassVar[Case.Verdict]
        FAILED: _ClassVar[Case.Verdict]
        WRITTEN: _ClassVar[Case.Verdict]
    UNKNOWN: Case.Verdict
    PASSED: Case.Verdict
    FAILED: Case.Verdict
    WRITTEN: Case.Verdict
    SURFACE_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    ACTUAL_FIELD_NUMBER: _ClassVar[int]
    surface: str
    verdict: Case.Verdict
    message: str
    path: str
    expected: str
    actual: str
    def __init__(self, surface: _Optional[str] = ..., verdict: _Optional[_Union[Case.Verdict, str]] = ..., message: _Optional[str] = ..., path: _Optional[str] = ..., expected: _Optional[str] = ..., actual: _Optional[str] = ...) -> None: ...

class Agent(_message.Message):
    __slots__ = ("name", "starts", "exit_status", "ended_by_runner", "leftovers", "stdout_lines", "stdout_bytes", "stderr_bytes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STARTS_FIELD_NUMBER: _ClassVar[int]
    EXIT_STATUS_FIELD_NUMBER: _ClassVar[int]
    ENDED_BY_RUNNER_FIELD_NUMBER: _ClassVar[int]
    LEFTOVERS_FIELD_NUMBER: _ClassVar[int]
    STDOUT_LINES_FIELD_NUMBER: _ClassVar[int]
    STDOUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    STDERR_BYTES_FIELD_NUMBER: _ClassVar[int]
    name: str
    starts: int
    exit_status: int
    ended_by_runner: bool
    leftovers: _containers.RepeatedScalarFieldContainer[str]
    stdout_lines: int
    stdout_bytes: int
    stderr_bytes: int
    def __init__(self, name: _Optional[str] = ..., starts: _Optional[int] = ..., exit_status: _Optional[int] = ..., ended_by_runner: _Optional[bool] = ..., leftovers: _Optional[_Iterable[str]] = ..., stdout_lines: _Optional[int] = ..., stdout_bytes: _Optional[int] = ..., stderr_bytes: _Optional[int] = ...) -> None: ...

class Timing(_message.Message):
    __slots__ = ("load", "prepare", "agent", "judge", "total", "runner_cpu")
    LOAD_FIELD_NUMBER: _ClassVar[int]
    PREPARE_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    JUDGE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    RUNNER_CPU_FIELD_NUMBER: _ClassVar[int]
    load: float
    prepare: float
    agent: float
    judge: float
    total: float
    runner_cpu: float
    def __init__(self, load: _Optional[float] = ..., prepare: _Optional[float] = ..., agent: _Optional[float] = ..., judge: _Optional[float] = ..., total: _Optional[float] = ..., runner_cpu: _Optional[float] = ...) -> None: ...
