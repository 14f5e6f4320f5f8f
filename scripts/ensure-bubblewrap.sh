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
  echo "recourse: the tests of the shell tool need bwrap and it is not there: $1. Install the package bubblewrap." >&2
  exit 1
}

command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
  fail 'apt-get and dpkg-deb, which could get it, are not here either'

# On the file system of the place it will have, so that a rename puts it there.
{ mkdir -p "$cache" && work=$(mktemp -d "$cache/.unpack-XXXXXX"); } || fail "$cache cannot be written"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
log=$work/log

# Needs no rights but to write here.
download() {
  (cd "$work" && apt-get download bubblewrap) >"$log" 2>&1 </dev/null
}

update() {
  set -- env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -y update
  [ "$(id -u)" -eq 0 ] || set -- sudo -n "$@"
  "$@" >"$log" 2>&1 </dev/null
}

fail_with_log() {
  tail -n 5 "$log" >&2
  fail "$1 (the last lines are above)"
}

echo "recourse: getting the package bubblewrap with apt-get; it is unpacked into $cache, nothing is installed."
# Package lists are missing or too old: only then are new ones asked for.
download || { update && download; } || fail_with_log 'apt-get could not download the package bubblewrap'
dpkg-deb -x "$work"/bubblewrap_*.deb "$work/package" >"$log" 2>&1 || fail_with_log 'the package bubblewrap could not be unpacked'
"$work/package/usr/bin/bwrap" --version >"$log" 2>&1 || fail_with_log 'the bwrap of the package does not start'
# A rename replaces a file at once: of two runs at the same time each leaves a whole file.
mv -f "$work/package/usr/bin/bwrap" "$cache/bwrap" || fail "$cache cannot be written"
