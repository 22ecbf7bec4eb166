#!/bin/sh
# A program of agent_replay. Its runfiles are beside it (bazel run, an action), around it (bazel test), or where a variable says.
for runfiles in "$0.runfiles" "${0%.runfiles/*}.runfiles" "${RUNFILES_DIR:-}" "${TEST_SRCDIR:-}"; do
  if [ -e "$runfiles/%{bundle}" ]; then
    exec %{interpreter} -I -S "$runfiles/%{start}" "$runfiles" "$runfiles/%{bundle}" %{module} "$@"
  fi
done
echo "$0: its runfiles are not there; start it with bazel run, or set RUNFILES_DIR to its .runfiles tree" >&2
exit 4
