#!/bin/sh
# Sees to it that the test of slow clients finds slowhttptest: on PATH, or else installed by apt-get.
# Silent where there is nothing to do. Exit code: 0 = it is there, 1 = it is not and one sentence says why.

command -v slowhttptest >/dev/null && exit 0

fail() {
  echo "recourse: the test of slow clients needs slowhttptest and there is none: $1. Install the package slowhttptest." >&2
  exit 1
}

# Runs apt-get with the rights it needs; its talk is kept for the case that it fails.
apt() {
  set -- env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -y "$@"
  [ "$(id -u)" -eq 0 ] || set -- sudo -n "$@"
  "$@" >"$talk" 2>&1 </dev/null
}

command -v apt-get >/dev/null || fail 'apt-get, which could install it, is not here either'
echo 'recourse: installing the package slowhttptest with apt-get: it plays the slow clients of a test.'
talk=$(mktemp) || exit 1
trap 'rm -f "$talk"' EXIT
apt install --no-install-recommends slowhttptest || { apt update && apt install --no-install-recommends slowhttptest; } || {
  tail -n 5 "$talk" >&2
  fail 'apt-get could not install it (its last lines are above)'
}
command -v slowhttptest >/dev/null || fail 'the package brought none'
