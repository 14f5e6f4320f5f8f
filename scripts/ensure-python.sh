#!/bin/sh
# Sees to it that the tests of the Python client find a python3 of 3.10 or newer, and hatchling, which builds its wheel.
# python3 is installed by apt-get where it is missing. Debian's packages of hatchling are downloaded and unpacked, not
# installed: they are Python alone, and any python3 runs them.
# Silent where there is nothing to do. Exit code: 0 = both are there, 1 = one is not and one sentence says why.

root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
cache=$root/node_modules/.cache/recourse/hatchling

fail() {
  echo "recourse: the tests of the Python client need python3 (3.10 or newer) and hatchling: $1." >&2
  exit 1
}

. "$root/scripts/debian-package.sh"
command -v python3 >/dev/null || install_package python3 'it runs the tests of the Python client'
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || fail "$(python3 --version 2>&1) is too old"

python3 -c 'import hatchling.build' 2>/dev/null && exit 0
[ -d "$cache/hatchling" ] && exit 0

mkdir -p "${cache%/*}" || fail "${cache%/*} cannot be written"
parts=$(mktemp -d "${cache%/*}/.hatchling-XXXXXX") || fail "${cache%/*} cannot be written"
# Newer versions of Debian have a further package that hatchling wants there.
further=$(apt-cache show python3-trove-classifiers >/dev/null 2>&1 && echo python3-trove-classifiers)
for name in python3-hatchling python3-packaging python3-pathspec python3-pluggy python3-tomli $further; do
  # In a shell of its own, whose end takes what was unpacked away.
  (unpack_package "$name" "$parts" && cp -R "$package/usr/lib/python3/dist-packages/." "$parts") || {
    rm -rf "$parts"
    exit 1
  }
done
PYTHONPATH=$parts python3 -c 'import hatchling.build' || {
  rm -rf "$parts"
  fail 'the hatchling of the package does not start'
}
# At once: of two runs at the same time the second finds it there.
mv "$parts" "$cache" 2>/dev/null || rm -rf "$parts"
