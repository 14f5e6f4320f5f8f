#!/bin/sh
# Everything CI checks: static checks first, then both tiers of tests and what runs on Node 24 as well, each also where one
# before has failed. In CI a test file that failed runs once more, alone, after the rest.
# Its last line is `N passed, N failed` for all of them together. Exit code: 0 = everything passed, else 1.
fast=node_modules/.cache/recourse/test-report.json
system=node_modules/.cache/recourse/system-report.json
node24=node_modules/.cache/recourse/node24-report.json

# Reports of an earlier run must not stand in for those that this run failed to write.
rm -f "$fast" "$system" "$node24"

status=0
npm run lint && npm run types && npm run drift && npm run openapi:lint || status=1
if [ "$status" -eq 0 ]; then
  failed=
  npm test || failed=fast
  npm run test:system || failed="$failed system"
  npm run test:node24 || failed="$failed node24"
  # Unquoted: a word a run.
  node scripts/repeat-failed.ts $failed || status=1
fi
exec node scripts/count-tests.ts "$status" "$fast" "$system" "$node24"
