#!/usr/bin/env bash
# generic.sh [FLAG…] [TARGET…]: Bazel tests against a shared cache, for any CI. Copy it into your repository as ci/replay_tests.sh.
#
#   REMOTE_CACHE          the cache's URL, http(s):// or grpc(s)://; without it nothing is shared
#   REMOTE_CACHE_WRITES   "true" where results are stored, too: builds of your main branch, never those of a stranger's change
#   REMOTE_CACHE_HEADER   what the cache asks for, e.g. "Authorization=Bearer …"; a secret of your CI
#   RESULTS               a directory for what is kept of the run; default: replay-results
#   BAZEL, REPLAY         the command and the label of `replay`; default: bazel, @agent_replay//tools:replay
set -euo pipefail

bazel=${BAZEL:-bazel}
results=${RESULTS:-replay-results}
mkdir -p -- "$results"
# Of this user only, and gone at the end. Build events hold the whole environment and command line: they are not kept.
private=$(mktemp -d)
trap 'rm -rf -- "$private"' EXIT

print_bazelrc() {
  [[ -n ${REMOTE_CACHE:-} ]] || return 0
  printf 'common --config=remote-cache\n'
  printf 'common:remote-cache "--remote_cache=%s"\n' "$REMOTE_CACHE"
  [[ ${REMOTE_CACHE_WRITES:-} == true ]] || printf 'common:remote-cache --noremote_upload_local_results\n'
  # Bazel asks a program for the header; as a flag it would stand in the process list.
  [[ -z ${REMOTE_CACHE_HEADER:-} ]] || printf 'common:remote-cache "--credential_helper=%s"\n' "$private/credentials"
}

write_credentials() {
  local name=${REMOTE_CACHE_HEADER%%=*} value=${REMOTE_CACHE_HEADER#*=}
  [[ $name != *[\"\\]* && $value != *[\"\\]* ]] || { printf 'REMOTE_CACHE_HEADER: no quotes and backslashes\n' >&2; exit 2; }
  printf '{"headers":{"%s":["%s"]}}\n' "$name" "$value" >"$private/header.json"
  printf '#!/bin/sh\ncat >/dev/null\ncat -- "%s"\n' "$private/header.json" >"$private/credentials"
  chmod 700 "$private/credentials"
}

print_bazelrc >"$private/bazelrc"
[[ -z ${REMOTE_CACHE_HEADER:-} ]] || write_credentials
unset REMOTE_CACHE_HEADER

(($# > 0)) || set -- //...
code=0
"$bazel" "--bazelrc=$private/bazelrc" test --config=ci --keep_going \
  "--build_event_json_file=$private/events.json" "--execution_log_compact_file=$results/execution.log" "$@" || code=$?

# Words for a person; the verdict is the tests'.
"$bazel" "--bazelrc=$private/bazelrc" run --config=ci "${REPLAY:-@agent_replay//tools:replay}" -- \
  cache-report "$private/events.json" | tee -- "$results/cache-report.txt" || true
exit "$code"
