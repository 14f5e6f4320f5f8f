#!/bin/sh
# Sees to it that this checkout's tool hosts and its console's page are loaded as one file each: scripts/bundle.ts makes what the
# service would not find for its sources. Silent. Exit code: always 0, for without it hosts run from the sources, only slower, and
# the console says what to do.

root=$(cd "$(dirname "$0")/.." && pwd) || exit 0

# Not with production dependencies only.
[ -d "$root/node_modules/rolldown" ] || exit 0
node -C @recourse/source "$root/scripts/bundle.ts" >&2
exit 0
