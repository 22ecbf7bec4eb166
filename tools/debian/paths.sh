# Where the private root lives and how to enter it. Sourced by the scripts beside it.
# shellcheck shell=bash disable=SC2034  # the variables are for the scripts that source this

say() { printf 'agent_replay: %s\n' "$*" >&2; }
die() {
  say "$@"
  exit 1
}

debian_dir=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-${HOME:?is not set, so there is no cache directory}/.cache}/agent_replay
[[ $cache == /* ]] || die "the cache directory $cache is not an absolute path"

# The root knows its own name, so that a command inside it does not enter it again.
stamp=share/agent_replay/digest

# choose_root [PACKAGES]: the root that PACKAGES, a list of packages, describes; without it the one that Bazel runs in.
# Its state is in a directory that is called after the one of the list. A changed recipe makes another root; the machine
# counts since a home directory can be on several.
choose_root() {
  packages_file=${1:-$debian_dir/packages.txt}
  roots=$(cd -P -- "$(dirname -- "$packages_file")" && pwd)
  roots=$cache/${roots##*/}
  digest=$({ printf '%s\n' "$HOSTTYPE" && cat -- "$packages_file" "$debian_dir/make_root"; } | sha256sum)
  digest=${digest:0:16}
  root=$roots/$digest
}

# An ordinary user may mount only in a user namespace of its own.
namespace=(unshare --mount)
((EUID == 0)) || namespace=(unshare --map-root-user --mount)
