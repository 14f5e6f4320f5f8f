#!/bin/sh
# Sees to it that `prometheus` and `promtool` are found: in PROMETHEUS_BIN (a directory), on PATH, where an earlier run
# put them, or in Debian's package prometheus. That package is downloaded and unpacked, not installed: an installation
# would start a daemon. Both files run on their own.
# Silent where there is nothing to do. Exit code: 0 = they are there, 1 = they are not and one sentence says why.

root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
cache=$root/node_modules/.cache/recourse/prometheus

fail() {
  echo "recourse: tests and metrics:lint need prometheus and promtool and they are not there: $1. Install them, or set PROMETHEUS_BIN to a directory that holds both." >&2
  exit 1
}

has_both() {
  [ -x "$1/prometheus" ] && [ -x "$1/promtool" ]
}

if [ -n "$PROMETHEUS_BIN" ]; then
  has_both "$PROMETHEUS_BIN" || fail "the directory $PROMETHEUS_BIN, which PROMETHEUS_BIN names, lacks one"
  exit 0
fi
command -v prometheus >/dev/null && command -v promtool >/dev/null && exit 0
has_both "$cache" && exit 0

command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
  fail 'apt-get and dpkg-deb, which could get them, are not here either'

# On the file system of the place they will have, so that a rename puts them there.
{ mkdir -p "$cache" && work=$(mktemp -d "$cache/.unpack-XXXXXX"); } || fail "$cache cannot be written"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
log=$work/log

# Needs no rights but to write here.
download() {
  (cd "$work" && apt-get download prometheus) >"$log" 2>&1 </dev/null
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

echo "recourse: getting the package prometheus with apt-get; it is unpacked into $cache, nothing is installed."
# Package lists are missing or too old: only then are new ones asked for.
download || { update && download; } || fail_with_log 'apt-get could not download the package prometheus'
dpkg-deb -x "$work"/prometheus_*.deb "$work/package" >"$log" 2>&1 || fail_with_log 'the package prometheus could not be unpacked'

for name in promtool prometheus; do
  "$work/package/usr/bin/$name" --version >"$log" 2>&1 || fail_with_log "the $name of the package does not start"
done
# A rename replaces a file at once: of two runs at the same time each leaves whole files.
for name in promtool prometheus; do
  mv -f "$work/package/usr/bin/$name" "$cache/$name" || fail "$cache cannot be written"
done
