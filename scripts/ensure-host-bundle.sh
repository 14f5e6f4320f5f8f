#!/bin/sh
# Sees to it that tool hosts of this checkout start from one bundle: scripts/bundle-host.ts makes it where the service would
# not find one of its sources. Silent. Exit code: always 0, for hosts also run from the sources, only slower.

root=$(cd "$(dirname "$0")/.." && pwd) || exit 0

# Not with production dependencies only.
[ -d "$root/node_modules/rolldown" ] || exit 0
node -C @recourse/source "$root/scripts/bundle-host.ts" >&2
exit 0
