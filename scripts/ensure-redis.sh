#!/bin/sh
# Sees to it that the tests find a redis: REDIS_URL, redis-server on PATH, the link of an earlier run, or an installation
# by apt-get. Debian's package redis-tools is enough and starts no daemon: its redis-check-rdb is the server itself when
# it is started under the name redis-server.
# Silent where there is nothing to do. Exit code: 0 = there is one, 1 = there is none and one sentence says why.

[ -z "$REDIS_URL" ] || exit 0
command -v redis-server >/dev/null && exit 0

root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
link=$root/node_modules/.cache/recourse/redis-server
[ -x "$link" ] && exit 0

fail() {
  echo "recourse: the tests need a redis-server and there is none: $1. Install one, or set REDIS_URL to a redis made for tests." >&2
  exit 1
}

. "$root/scripts/debian-package.sh"
command -v redis-check-rdb >/dev/null ||
  install_package redis-tools 'its redis-server runs the tests, no daemon is started'
binary=$(command -v redis-check-rdb) || fail 'the package redis-tools brought no redis-check-rdb'

{ mkdir -p "${link%/*}" && ln -sf "$binary" "$link"; } || fail "$link cannot be written"
answer=$("$link" --version 2>&1 | head -n 1)
case $answer in
  *'server v='*) echo "recourse: the tests use $binary, under the name $link" ;;
  *)
    rm -f "$link"
    fail "$binary does not start as one ($answer)"
    ;;
esac
