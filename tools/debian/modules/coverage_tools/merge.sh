#!/usr/bin/env bash
# Joins the lcov files that a test left, so that `bazel coverage` runs; Bazel's own tool is a download.
set -euo pipefail

directory=
output=
reports=
for argument in "$@"; do
  case $argument in
    --coverage_dir=*) directory=${argument#*=} ;;
    --output_file=*) output=${argument#*=} ;;
    --reports_file=*) reports=${argument#*=} ;;
  esac
done

: >"$output"
# shellcheck disable=SC2094  # the output is left out of what is read
if [[ -n $directory ]]; then
  find "$directory" -name '*.dat' ! -path "$output" -exec cat -- {} + >>"$output"
elif [[ -n $reports ]]; then
  while IFS= read -r report; do
    cat -- "$report" >>"$output"
  done <"$reports"
fi
