#!/usr/bin/env node
// In words that every Node understands, before anything is loaded that an old one cannot read.
const LEAST = 24;

if (Number(process.versions.node.split('.')[0]) < LEAST) {
  process.stderr.write(
    `recourse: it needs Node.js ${LEAST} or newer, and this is ${process.version}. Install a newer one; beside the package, \`npm install --save-dev node@${LEAST}\` brings it.\n`,
  );
  process.exitCode = 1;
} else await import('./main.ts');
