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

. "$root/scripts/debian-package.sh"
unpack_package prometheus "$cache"
try_program promtool
try_program prometheus
keep_program promtool "$cache"
keep_program prometheus "$cache"
