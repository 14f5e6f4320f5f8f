#!/usr/bin/env node
// In words that every Node understands, before anything is loaded that an old one cannot read.
const LEAST = 24;

if (Number(process.versions.node.split('.')[0]) < LEAST) {
  // Not the package `node`: it gets its binary by an install script, and those do not run everywhere.
  const isPacked = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch);
  const besides = isPacked ? `, or one for this project: npm install node-linux-${process.arch}@${LEAST}` : '';
  process.stderr.write(
    `recourse: needs Node.js ${LEAST} or newer, and this is v${process.versions.node}. Install one from https://nodejs.org${besides}\n`,
  );
  process.exitCode = 1;
} else await import('./main.ts');
