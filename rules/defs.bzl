"""The public rules of agent_replay."""

load("//rules/private:agent.bzl", _ReplayAgentInfo = "ReplayAgentInfo", _acp_agent = "acp_agent")
load("//rules/private:bytecode.bzl", _py_bytecode = "py_bytecode")
load("//rules/private:commands.bzl", _replay_commands = "replay_commands")
load("//rules/private:guard_test.bzl", _fixture_guard_test = "fixture_guard_test")
load("//rules/private:normaliser_rule.bzl", _replay_rule = "replay_rule")
load("//rules/private:options.bzl", _replay_options = "replay_options")
load("//rules/private:replay_suite.bzl", _acp_replay_suite = "acp_replay_suite")
load("//rules/private:replay_test.bzl", _acp_replay_test = "acp_replay_test")
load("//rules/private:trace_agent.bzl", _py_trace_agent = "py_trace_agent")
load("//rules/private:trace_guard_test.bzl", _trace_guard_test = "trace_guard_test")
load("//rules/private:trace_test.bzl", _trace_regression_test = "trace_regression_test", _trace_snapshot_test = "trace_snapshot_test")
load("//rules/private:transport_guard_test.bzl", _transport_guard_test = "transport_guard_test")
load("//rules/private:transport_record.bzl", _transport_provider = "transport_provider", _transport_record = "transport_record")
load("//rules/private:transport_suite.bzl", _transport_replay_suite = "transport_replay_suite")
load("//rules/private:transport_test.bzl", _transport_replay_test = "transport_replay_test")

ReplayAgentInfo = _ReplayAgentInfo
acp_agent = _acp_agent
acp_replay_suite = _acp_replay_suite
acp_replay_test = _acp_replay_test
fixture_guard_test = _fixture_guard_test
py_bytecode = _py_bytecode
py_trace_agent = _py_trace_agent
replay_commands = _replay_commands
replay_options = _replay_options
replay_rule = _replay_rule
trace_guard_test = _trace_guard_test
trace_regression_test = _trace_regression_test
trace_snapshot_test = _trace_snapshot_test
transport_guard_test = _transport_guard_test
transport_provider = _transport_provider
transport_record = _transport_record
transport_replay_suite = _transport_replay_suite
transport_replay_test = _transport_replay_test
