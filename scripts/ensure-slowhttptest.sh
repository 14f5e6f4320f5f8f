#!/bin/sh
# Sees to it that the tests of slow clients find `slowhttptest`: on PATH, or by an installation of Debian's package of
# that name by apt-get. It is a client and brings no daemon.
# Silent where there is nothing to do. Exit code: 0 = it is there, 1 = it is not and one sentence says why.

command -v slowhttptest >/dev/null && exit 0

fail() {
  echo "recourse: the tests of slow clients need slowhttptest and it is not there: $1. Install the package slowhttptest." >&2
  exit 1
}

# Runs apt-get with the rights it needs; its talk is kept for the case that it fails.
apt() {
  set -- env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -y "$@"
  [ "$(id -u)" -eq 0 ] || set -- sudo -n "$@"
  "$@" >"$log" 2>&1 </dev/null
}

command -v apt-get >/dev/null || fail 'apt-get, which could install it, is not here either'
if [ "$(id -u)" -ne 0 ]; then
  { command -v sudo && sudo -n true; } >/dev/null 2>&1 || fail 'installing it takes root, or sudo without a password'
fi
echo 'recourse: installing the package slowhttptest with apt-get: tests attack the service with its slow clients.'
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
# Package lists may be missing or too old: only then is the network asked for new ones.
if ! apt install --no-install-recommends slowhttptest; then
  if ! { apt update && apt install --no-install-recommends slowhttptest; }; then
    tail -n 5 "$log" >&2
    fail 'apt-get could not install slowhttptest (its last lines are above)'
  fi
fi
command -v slowhttptest >/dev/null || fail 'the package slowhttptest brought no command of that name'
