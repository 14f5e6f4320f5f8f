# Sourced by scripts that need programs of a Debian package: install_package installs it, unpack_package only downloads and
# unpacks it. The scripts have a function `fail` that says one sentence and exits with 1.

# Installs the package $1 by apt-get without what it only recommends, and says that $2.
install_package() {
  command -v apt-get >/dev/null || fail 'apt-get, which could install it, is not here either'
  if [ "$(id -u)" -ne 0 ]; then
    { command -v sudo && sudo -n true; } >/dev/null 2>&1 || fail 'installing it takes root, or sudo without a password'
  fi
  echo "recourse: installing the package $1 with apt-get: $2."
  log=$(mktemp) || exit 1
  # Package lists are missing or too old: only then are new ones asked for.
  if ! { apt install --no-install-recommends "$1" || { apt update && apt install --no-install-recommends "$1"; }; }; then
    tail -n 5 "$log" >&2
    rm -f "$log"
    fail "apt-get could not install $1 (its last lines are above)"
  fi
  rm -f "$log"
}

# Runs apt-get with the rights it needs; what it prints is kept in $log for the case that it fails.
apt() {
  set -- env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -y "$@"
  [ "$(id -u)" -eq 0 ] || set -- sudo -n "$@"
  "$@" >"$log" 2>&1 </dev/null
}

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
  download_package "$1" || { apt update && download_package "$1"; } ||
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

fail_with_log() {
  tail -n 5 "$log" >&2
  fail "$1 (the last lines are above)"
}
