import { availableParallelism, totalmem } from 'node:os';
import { expect, test } from 'vitest';
import { readMachine, toHostLimits } from '#src/wiring/host-limits.ts';

const GIB = 1_073_741_824;
const UNSET = { TOOL_HOSTS_MIN: undefined, TOOL_HOSTS_MAX: undefined };

test.each([
  ['a container of 256 MiB', GIB / 4, 1, { min: 1, max: 1 }],
  ['a container of 512 MiB', GIB / 2, 1, { min: 2, max: 2 }],
  ['the container as it is shipped: 1 GiB', GIB, 1, { min: 2, max: 4 }],
  ['1 GiB on eight cores', GIB, 8, { min: 2, max: 5 }],
  ['a small machine', 8 * GIB, 4, { min: 2, max: 8 }],
  ['a large machine', 256 * GIB, 64, { min: 2, max: 128 }],
  ['more cores than anything', 4096 * GIB, 1024, { min: 2, max: 1024 }],
])('%s', (_name, memoryBytes, cores, limits) => {
  expect(toHostLimits(UNSET, { memoryBytes, cores })).toMatchObject(limits);
});

test('what is set holds whatever the machine is, and the rest follows it', () => {
  const machine = { memoryBytes: GIB, cores: 1 };
  const at = (TOOL_HOSTS_MIN?: number, TOOL_HOSTS_MAX?: number): string => {
    const { min, max } = toHostLimits({ TOOL_HOSTS_MIN, TOOL_HOSTS_MAX }, machine);
    return `${min} to ${max}`;
  };
  expect([at(0), at(3), at(12), at(undefined, 1), at(undefined, 32), at(3, 9)]).toEqual([
    '0 to 4',
    '3 to 4',
    '12 to 12',
    '1 to 1',
    '2 to 32',
    '3 to 9',
  ]);
});

test('the reason has the arithmetic, also where it does not hold', () => {
  const machine = { memoryBytes: GIB, cores: 1 };
  expect(toHostLimits(UNSET, machine).reason).toBe('half of 1024 MiB at 96 MiB a host bears 5, 1 cores bear 4');
  expect(toHostLimits({ ...UNSET, TOOL_HOSTS_MAX: 2 }, machine).reason).toBe(
    'TOOL_HOSTS_MAX; without it: half of 1024 MiB at 96 MiB a host bears 5, 1 cores bear 4',
  );
});

test('of this machine no more is told than it has', () => {
  const { memoryBytes, cores } = readMachine();
  expect(memoryBytes).toBeGreaterThan(0);
  expect(memoryBytes).toBeLessThanOrEqual(totalmem());
  expect(cores).toBe(availableParallelism());
});
