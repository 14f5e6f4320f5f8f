#!/bin/sh
# Says in one sentence what keeps Node from starting here, before anything else starts. Silent where all is well.
# npm scripts run it first, with node_modules/.bin in front of PATH: there the pinned Node lies.
# Exit code: 0 = `node` runs and is new enough, 1 = it does not.

least=24
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1

fail() {
  echo "recourse: $1" >&2
  exit 1
}

# npm writes this file last, so a broken-off installation lacks it too.
[ -f "$root/node_modules/.package-lock.json" ] || fail 'the dependencies are not installed: run npm ci first.'

path=$(command -v node) || fail "there is no node on PATH: install Node.js $least or newer."
# The message comes from the system's loader, in the language of the user unless told otherwise.
answer=$(LC_ALL=C node -v 2>&1)
code=$?

case $answer in
  *libatomic*)
    fail "$path needs the library libatomic.so.1: run apt-get install libatomic1 (elsewhere the package is called libatomic)."
    ;;
esac

if [ "$code" -ne 0 ]; then
  # A binary for glibc on a system without it is "not found" although the file is there.
  first=$(echo "$answer" | head -n 1)
  fail "$path does not run here ($first): install Node.js $least or newer and delete node_modules/.bin/node."
fi

major=${answer#v}
major=${major%%.*}
case $major in
  '' | *[!0-9]*) fail "$path answers '$answer' where a version was expected: install Node.js $least or newer." ;;
esac
[ "$major" -ge "$least" ] && exit 0
case $(uname -s 2>/dev/null) in
  Darwin) advice='run brew install node, or install it from https://nodejs.org.' ;;
  *) advice='on Linux (x64, arm64) run npm ci, which brings one; elsewhere install it.' ;;
esac
fail "$path is $answer, Node.js $least or newer is needed: $advice"
