import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLab, toOutcome } from '@recourse/test-support/isolation-lab.ts';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { ROOT } from '@recourse/test-support/start-process.ts';
import { findFreshBundle } from 'recourse-server/files/source-bundle';
import { expect, test } from 'vitest';

// JavaScript with a zod schema: what strips types takes 17 MB by itself, and what checks JSON Schema 15.
const REPORT = `
  import { readFileSync } from 'node:fs';
  import { defineTool, z } from 'recourse-server';
  import 'plain';
  const run = () => {
    const resident = /VmRSS:\\s+(\\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    return { entry: process.argv[1], loaded: process.moduleLoadList, residentMb: Number(resident) / 1024 };
  };
  export const report = defineTool({ name: 'report', description: '', effects: 'read', input: z.object({}), run });
`;

test('a host of this checkout starts from its bundle, with no more than it needs', async () => {
  const bundled = spawnSync('node', [...FROM_SOURCES, 'scripts/bundle.ts'], { cwd: ROOT, encoding: 'utf8' });
  expect(bundled).toMatchObject({ status: 0, stdout: '', stderr: '' });
  const lab = openLab({ minHosts: 1 });
  const plain = join(lab.root, 'node_modules/plain');
  mkdirSync(plain, { recursive: true });
  writeFileSync(join(plain, 'index.js'), 'module.exports = 1;');
  const { call } = await lab.load(REPORT, 'report.mjs');
  const { entry, loaded, residentMb } = readReport(toOutcome(await call('report')));
  expect(entry).toMatch(/node_modules\/\.cache\/recourse\/host\/[0-9a-f]{16}\/inside\/host-main\.mjs$/);
  // In Node's own modules: what fetch, WebSocket and TLS are made of. Loading them takes as long as the rest.
  expect(loaded.filter((name) => /undici|http2|tls|https/.test(name))).toEqual([]);
  // 65 as measured, and 71 where no compiled code is kept yet; 81 without the bundle.
  expect(residentMb).toBeLessThan(75);
});

type Report = { readonly entry: string; readonly loaded: readonly string[]; readonly residentMb: number };

const readReport = (value: unknown): Report => {
  if (typeof value !== 'object' || value === null) throw new Error(`no report: ${String(value)}`);
  const { entry, loaded, residentMb } = { entry: '', loaded: [], residentMb: Number.NaN, ...value };
  return { entry, loaded, residentMb };
};

test('the bundle has one character a byte, or all of its text would take twice the memory', () => {
  const entry = findFreshBundle(ROOT, 'host') ?? '';
  expect(readFileSync(entry, 'latin1')).not.toMatch(/[^\n\t\x20-\x7e]/);
});
