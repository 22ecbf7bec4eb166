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

# A changed recipe makes another root; the machine counts since a home directory can be on several.
digest=$({ printf '%s\n' "$HOSTTYPE" && cat -- "$debian_dir/packages.txt" "$debian_dir/make_root"; } | sha256sum)
digest=${digest:0:16}
root=$cache/debian/$digest
# The root knows its own name, so that a command inside it does not enter it again.
stamp=share/agent_replay/digest

# An ordinary user may mount only in a user namespace of its own.
namespace=(unshare --mount)
((EUID == 0)) || namespace=(unshare --map-root-user --mount)
