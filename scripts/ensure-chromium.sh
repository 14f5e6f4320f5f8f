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

. "$(dirname "$0")/debian-package.sh"
install_package chromium 'the tests of the console look at it in a real browser'
command -v chromium >/dev/null || fail 'the package chromium brought no command of that name'
