from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OptionEffectTag(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UNKNOWN: _ClassVar[OptionEffectTag]
    NO_OP: _ClassVar[OptionEffectTag]
    LOSES_INCREMENTAL_STATE: _ClassVar[OptionEffectTag]
    CHANGES_INPUTS: _ClassVar[OptionEffectTag]
    AFFECTS_OUTPUTS: _ClassVar[OptionEffectTag]
    BUILD_FILE_SEMANTICS: _ClassVar[OptionEffectTag]
    BAZEL_INTERNAL_CONFIGURATION: _ClassVar[OptionEffectTag]
    LOADING_AND_ANALYSIS: _ClassVar[OptionEffectTag]
    EXECUTION: _ClassVar[OptionEffectTag]
    HOST_MACHINE_RESOURCE_OPTIMIZATIONS: _ClassVar[OptionEffectTag]
    EAGERNESS_TO_EXIT: _ClassVar[OptionEffectTag]
    BAZEL_MONITORING: _ClassVar[OptionEffectTag]
    TERMINAL_OUTPUT: _ClassVar[OptionEffectTag]
    ACTION_COMMAND_LINES: _ClassVar[OptionEffectTag]
    TEST_RUNNER: _ClassVar[OptionEffectTag]

class OptionMetadataTag(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXPERIMENTAL: _ClassVar[OptionMetadataTag]
    INCOMPATIBLE_CHANGE: _ClassVar[OptionMetadataTag]
    DEPRECATED: _ClassVar[OptionMetadataTag]
    HIDDEN: _ClassVar[OptionMetadataTag]
    INTERNAL: _ClassVar[OptionMetadataTag]
UNKNOWN: OptionEffectTag
NO_OP: OptionEffectTag
LOSES_INCREMENTAL_STATE: OptionEffectTag
CHANGES_INPUTS: OptionEffectTag
AFFECTS_OUTPUTS: OptionEffectTag
BUILD_FILE_SEMANTICS: OptionEffectTag
BAZEL_INTERNAL_CONFIGURATION: OptionEffectTag
LOADING_AND_ANALYSIS: OptionEffectTag
EXECUTION: OptionEffectTag
HOST_MACHINE_RESOURCE_OPTIMIZATIONS: OptionEffectTag
EAGERNESS_TO_EXIT: OptionEffectTag
BAZEL_MONITORING: OptionEffectTag
TERMINAL_OUTPUT: OptionEffectTag
ACTION_COMMAND_LINES: OptionEffectTag
TEST_RUNNER: OptionEffectTag
EXPERIMENTAL: OptionMetadataTag
INCOMPATIBLE_CHANGE: OptionMetadataTag
DEPRECATED: OptionMetadataTag
HIDDEN: OptionMetadataTag
INTERNAL: OptionMetadataTag

class CommandLine(_message.Message):
    __slots__ = ("command_line_label", "sections")
    COMMAND_LINE_LABEL_FIELD_NUMBER: _ClassVar[int]
    SECTIONS_FIELD_NUMBER: _ClassVar[int]
    command_line_label: str
    sections: _containers.RepeatedCompositeFieldContainer[CommandLineSection]
    def __init__(self, command_line_label: _Optional[str] = ..., sections: _Optional[_Iterable[_Union[CommandLineSection, _Mapping]]] = ...) -> None: ...

class CommandLineSection(_message.Message):
    __slots__ = ("section_label", "option_list")
    SECTION_LABEL_FIELD_NUMBER: _ClassVar[int]
    OPTION_LIST_FIELD_NUMBER: _ClassVar[int]
    section_label: str
    option_list: OptionList
    def __init__(self, section_label: _Optional[str] = ..., option_list: _Optional[_Union[OptionList, _Mapping]] = ...) -> None: ...

class OptionList(_message.Message):
    __slots__ = ("option",)
    OPTION_FIELD_NUMBER: _ClassVar[int]
    option: _containers.RepeatedCompositeFieldContainer[Option]
    def __init__(self, option: _Optional[_Iterable[_Union[Option, _Mapping]]] = ...) -> None: ...

class Option(_message.Message):
    __slots__ = ("combined_form", "option_name", "option_value", "effect_tags", "metadata_tags")
    COMBINED_FORM_FIELD_NUMBER: _ClassVar[int]
    OPTION_NAME_FIELD_NUMBER: _ClassVar[int]
    OPTION_VALUE_FIELD_NUMBER: _ClassVar[int]
    EFFECT_TAGS_FIELD_NUMBER: _ClassVar[int]
    METADATA_TAGS_FIELD_NUMBER: _ClassVar[int]
    combined_form: str
    option_name: str
    option_value: str
    effect_tags: _containers.RepeatedScalarFieldContainer[OptionEffectTag]
    metadata_tags: _containers.RepeatedScalarFieldContainer[OptionMetadataTag]
    def __init__(self, combined_form: _Optional[str] = ..., option_name: _Optional[str] = ..., option_value: _Optional[str] = ..., effect_tags: _Optional[_Iterable[_Union[OptionEffectTag, str]]] = ..., metadata_tags: _Optional[_Iterable[_Union[OptionMetadataTag, str]]] = ...) -> None: ...
