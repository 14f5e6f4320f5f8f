import { totalmem } from 'node:os';
import { expect, test } from 'vitest';
import { readMachine, toHostLimits } from '#src/config/host-limits.ts';

const GIB = 1_073_741_824;
const UNSET = { TOOL_HOSTS_MIN: undefined, TOOL_HOSTS_MAX: undefined, TOOL_HOST_MEMORY_MB: undefined };

test.each([
  ['a container of 128 MiB', GIB / 8, { min: 1, max: 1, memoryMb: 160 }],
  ['a container of 256 MiB', GIB / 4, { min: 2, max: 2, memoryMb: 160 }],
  ['a container of 512 MiB', GIB / 2, { min: 2, max: 4, memoryMb: 160 }],
  ['the container as it is shipped: 1 GiB', GIB, { min: 2, max: 8, memoryMb: 256 }],
  ['a small machine', 8 * GIB, { min: 2, max: 32, memoryMb: 512 }],
  ['a large machine', 4096 * GIB, { min: 2, max: 32, memoryMb: 512 }],
])('%s', (_name, memoryBytes, limits) => {
  expect(toHostLimits(UNSET, { memoryBytes })).toMatchObject(limits);
});

test('what is set holds whatever the machine is, and the rest follows it', () => {
  const machine = { memoryBytes: GIB };
  const at = (TOOL_HOSTS_MIN?: number, TOOL_HOSTS_MAX?: number): string => {
    const { min, max } = toHostLimits({ ...UNSET, TOOL_HOSTS_MIN, TOOL_HOSTS_MAX }, machine);
    return `${min} to ${max}`;
  };
  expect([at(0), at(3), at(12), at(undefined, 1), at(undefined, 32), at(3, 9)]).toEqual([
    '0 to 8',
    '3 to 8',
    '12 to 12',
    '1 to 1',
    '2 to 32',
    '3 to 9',
  ]);
});

test('the memory of a host holds as it is set', () => {
  expect(toHostLimits({ ...UNSET, TOOL_HOST_MEMORY_MB: 900 }, { memoryBytes: GIB }).memoryMb).toBe(900);
});

test('the reason has the arithmetic, also where it does not hold', () => {
  const machine = { memoryBytes: GIB };
  expect(toHostLimits(UNSET, machine).reason).toBe('half of 1024 MiB at 64 MiB per host allows 8, at most 32');
  expect(toHostLimits({ ...UNSET, TOOL_HOSTS_MAX: 2 }, machine).reason).toBe(
    'TOOL_HOSTS_MAX; default: half of 1024 MiB at 64 MiB per host allows 8, at most 32',
  );
});

test('of this machine no more is told than it has', () => {
  const { memoryBytes } = readMachine();
  expect(memoryBytes).toBeGreaterThan(0);
  expect(memoryBytes).toBeLessThanOrEqual(totalmem());
});
