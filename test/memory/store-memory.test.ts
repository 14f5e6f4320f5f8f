import { expect, test } from 'vitest';
import type { StoreUse } from '#src/memory/bounded-store.ts';
import { createStoreMemory, STORE_NAMES, toStoreBytes } from '#src/memory/store-memory.ts';

const MIB = 1024 * 1024;

test.each([
  ['unset', undefined, 187],
  ['less than 35 % of the heap', 100, 100],
  ['more than that', 400, 187],
])(
  'STORE_MEMORY_MB %s: all stores have that together, and never more than 35 % of the heap',
  (_what, setting, expected) => {
    expect(Math.floor(toStoreBytes(536 * MIB, setting) / MIB)).toBe(expected);
  },
);

test('the parts of all stores that are opened come to the whole', () => {
  const uses: StoreUse[] = [];
  const memory = createStoreMemory({ totalBytes: 1_000_000, watch: (_name, use) => void uses.push(use) });
  for (const name of STORE_NAMES) memory.open(name, { tenantOf: () => '', now: () => 1 });
  expect(uses.reduce((sum, { limitBytes }) => sum + limitBytes, 0)).toBe(1_000_000);
});
