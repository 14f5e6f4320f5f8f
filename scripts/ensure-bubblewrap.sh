#!/bin/sh
# Sees to it that the tests of the shell tool find `bwrap`: on PATH, where an earlier run put it, or in Debian's package
# bubblewrap. That package is downloaded and unpacked, not installed. Its libraries libcap2 and libselinux1 are part of
# every Debian; whether it starts is tried.
# Silent where there is nothing to do. Exit code: 0 = it is there, 1 = it is not and one sentence says why.

root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
cache=$root/node_modules/.cache/recourse/bubblewrap

command -v bwrap >/dev/null && exit 0
[ -x "$cache/bwrap" ] && exit 0

fail() {
  echo "recourse: the tests of the shell tool need bwrap and it is not there: $1.${2- Install the package bubblewrap.}" >&2
  exit 1
}

# Elsewhere there is no such program.
case $(uname -s 2>/dev/null) in
  Linux | '') ;;
  *) fail 'the shell tool exists on Linux alone, so run the tests there, or in a Linux container' '' ;;
esac

. "$root/scripts/debian-package.sh"
unpack_package bubblewrap "$cache"
try_program bwrap
keep_program bwrap "$cache"
