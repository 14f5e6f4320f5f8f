#!/usr/bin/env node
// In words that every Node understands, before anything is loaded that an old one cannot read.
const LEAST = 24;

if (Number(process.versions.node.split('.')[0]) < LEAST) {
  process.stderr.write(
    `recourse: needs Node.js ${LEAST} or newer, and this is ${process.version}. Install a newer Node.js; \`npm install --save-dev node@${LEAST}\` installs one next to the package.\n`,
  );
  process.exitCode = 1;
} else await import('./main.ts');
