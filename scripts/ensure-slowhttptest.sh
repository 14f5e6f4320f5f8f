#!/bin/sh
# Sees to it that the tests of slow clients find `slowhttptest`: on PATH, or by an installation of Debian's package of
# that name by apt-get. It is a client and brings no daemon.
# Silent where there is nothing to do. Exit code: 0 = it is there, 1 = it is not and one sentence says why.

command -v slowhttptest >/dev/null && exit 0

fail() {
  echo "recourse: the tests of slow clients need slowhttptest and it is not there: $1. Install the package slowhttptest." >&2
  exit 1
}

. "$(dirname "$0")/debian-package.sh"
install_package slowhttptest 'tests attack the service with its slow clients'
command -v slowhttptest >/dev/null || fail 'the package slowhttptest brought no command of that name'
