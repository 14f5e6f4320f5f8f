# Sourced by scripts that want programs of a Debian package and not the package: it is downloaded and unpacked, nothing is
# installed. They have a function `fail` that says one sentence and exits with 1.

# Unpacks the package $1 in a directory of its own below $2, and sets `package` to what it holds and `log` to a file for
# what programs say. The directory goes when the script ends.
unpack_package() {
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
    fail 'apt-get and dpkg-deb, with which it could be got, are not here either'

  # On the file system of the place its programs will have, so that a rename puts them there.
  { mkdir -p "$2" && work=$(mktemp -d "$2/.unpack-XXXXXX"); } || fail "$2 cannot be written"
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' HUP INT TERM
  log=$work/log
  package=$work/package

  echo "recourse: getting the package $1 with apt-get; it is unpacked into $2, nothing is installed."
  # Package lists are missing or too old: only then are new ones asked for.
  download_package "$1" || { update_lists && download_package "$1"; } ||
    fail_with_log "apt-get could not download the package $1"
  dpkg-deb -x "$work/$1"_*.deb "$package" >"$log" 2>&1 || fail_with_log "the package $1 could not be unpacked"
}

# Moves the program $1 of the unpacked package into the directory $2. A rename replaces a file at once: of
# two runs at the same time each leaves a whole file.
keep_program() {
  mv -f "$package/usr/bin/$1" "$2/$1" || fail "$2 cannot be written"
}

try_program() {
  "$package/usr/bin/$1" --version >"$log" 2>&1 || fail_with_log "the $1 of the package does not start"
}

# Needs no rights but to write here.
download_package() {
  (cd "$work" && apt-get download "$1") >"$log" 2>&1 </dev/null
}

update_lists() {
  set -- env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -y update
  [ "$(id -u)" -eq 0 ] || set -- sudo -n "$@"
  "$@" >"$log" 2>&1 </dev/null
}

fail_with_log() {
  tail -n 5 "$log" >&2
  fail "$1 (the last lines are above)"
}
