import { HostRestarts } from '@recourse/tool-hosts/host-restarts';
import { expect, test } from 'vitest';

const MINUTE_MS = 60_000;
const SILENT = { lastLines: [], recycledFor: '' };

test('restarts are counted by reason over the files that share processes, for an hour', () => {
  const restarts = new HostRestarts();
  for (let minute = 0; minute < 90; minute += 1) restarts.add('one.ts', 'recycle', SILENT, minute * MINUTE_MS);
  restarts.add('two.ts', 'crash', { lastLines: ['held'], recycledFor: '' }, 89.5 * MINUTE_MS);
  const at = 89.6 * MINUTE_MS;
  const sum = restarts.sum(['one.ts', 'two.ts', 'three.ts'], at);
  expect([...sum.restarts]).toEqual([
    ['recycle', 60],
    ['crash', 1],
  ]);
  expect(sum).toMatchObject({ lastRestartAt: 89.5 * MINUTE_MS, lastLines: ['held'] });
  expect([...restarts.sum(['one.ts'], at + 30 * MINUTE_MS).restarts]).toEqual([['recycle', 30]]);
  const later = { restarts: new Map(), lastRestartAt: null, lastLines: [], recycledFor: '' };
  expect(restarts.sum(['one.ts', 'two.ts'], at + 61 * MINUTE_MS)).toEqual(later);
});

test('what had made a process unusable is known until the next that was', () => {
  const restarts = new HostRestarts();
  restarts.add('one.ts', 'recycle', { lastLines: [], recycledFor: 'changed Array.prototype' }, 0);
  restarts.add('one.ts', 'timeout', SILENT, 1000);
  expect(restarts.sum(['one.ts'], 2000).recycledFor).toBe('changed Array.prototype');
  restarts.add('one.ts', 'recycle', { lastLines: [], recycledFor: 'changed Math' }, 3000);
  expect(restarts.sum(['one.ts'], 4000).recycledFor).toBe('changed Math');
});

test('of files that share processes the one whose work ended most of them comes first', () => {
  const restarts = new HostRestarts();
  const files = ['fine.ts', 'leak.ts', 'other.ts'];
  expect(restarts.worstFirst(files, 0)).toEqual(files);
  for (const file of ['other.ts', 'leak.ts', 'leak.ts']) restarts.add(file, 'growth', SILENT, 0);
  expect(restarts.worstFirst(files, 1)).toEqual(['leak.ts', 'other.ts', 'fine.ts']);
  expect(restarts.worstFirst(files, 61 * MINUTE_MS)).toEqual(files);
});
