#!/bin/sh
# Sees to it that the tests of the console find a browser: CHROMIUM_BIN, chromium, chromium-browser or google-chrome on
# PATH, or an installation of Debian's package chromium by apt-get.
# Silent where there is nothing to do. Exit code: 0 = there is one, 1 = there is none and one sentence says why.

[ -z "$CHROMIUM_BIN" ] || exit 0
for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null && exit 0
done

fail() {
  echo "recourse: the tests of the console need a chromium and there is none: $1. Install one, or set CHROMIUM_BIN to a browser like it." >&2
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
echo 'recourse: installing the package chromium with apt-get: the tests of the console look at it in a real browser.'
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
# Package lists may be missing or too old: only then is the network asked for new ones.
if ! apt install --no-install-recommends chromium; then
  if ! { apt update && apt install --no-install-recommends chromium; }; then
    tail -n 5 "$log" >&2
    fail 'apt-get could not install chromium (its last lines are above)'
  fi
fi
command -v chromium >/dev/null || fail 'the package chromium brought no command of that name'
