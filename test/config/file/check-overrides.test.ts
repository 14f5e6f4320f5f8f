import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { createOverrideCheck } from '@recourse/upstreams/override-check';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { UpstreamState } from '#src/extensions/source.ts';

const NONE = 'entry of the configuration file matches no tool';
const NONE_YET = 'entry of the configuration file matches no tool so far (some upstreams are not connected)';

type Unmatched = { readonly entry: 'override' | 'lane'; readonly pattern: string; readonly nearest: readonly string[] };

const startCheck = (status: { now: UpstreamState['status'] }, patienceMs = 60_000) => {
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(line) });
  const unmatched: Unmatched[] = [{ entry: 'override', pattern: 'serach', nearest: ['search'] }];
  const upstreams = (): readonly UpstreamState[] => [
    { name: 'mcp:a', status: status.now, reason: null, tools: 0, reconnects: 0 },
    { name: 'mcp:b', status: 'up', reason: null, tools: 1, reconnects: 0 },
  ];
  const check = createOverrideCheck({ findUnmatched: () => unmatched }, upstreams, log, patienceMs);
  onTestFinished(check.stop);
  return { check, lines, unmatched };
};

test('an entry that fits nothing is told of once, however often tools come and go, and again when there are others', () => {
  const { check, lines } = startCheck({ now: 'up' });
  check.look();
  expect(lines).toHaveLength(0);
  check.begin();
  check.look();
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(`"override":"serach","nearest":["search"],"msg":"${NONE}"`);
  check.forget();
  check.look();
  expect(lines).toHaveLength(2);
});

test.each(['connecting', 'down'] as const)('for a while nothing is told while something is %s', (away) => {
  const status: { now: UpstreamState['status'] } = { now: away };
  const { check, lines } = startCheck(status);
  check.begin();
  expect(lines).toHaveLength(0);
  status.now = 'held';
  check.look();
  expect(lines).toHaveLength(1);
});

test('one that is dead for good hides nothing for ever: after a while it is told with what is not known yet', async () => {
  const status: { now: UpstreamState['status'] } = { now: 'down' };
  const { check, lines } = startCheck(status, 30);
  check.begin();
  await vi.waitFor(() => expect(lines).toHaveLength(1), { timeout: timeLimit(15_000) });
  expect(lines[0]).toContain(`"override":"serach","nearest":["search"],"notReached":["mcp:a"],"msg":"${NONE_YET}"`);
  check.look();
  expect(lines).toHaveLength(1);
  status.now = 'up';
  check.look();
  check.look();
  expect(lines).toHaveLength(2);
  expect(lines[1]).toContain(`"msg":"${NONE}"`);
});

test('after a change there is time again', async () => {
  const { check, lines } = startCheck({ now: 'down' }, 300);
  check.begin();
  await vi.waitFor(() => expect(lines).toHaveLength(1), { timeout: timeLimit(15_000) });
  check.forget();
  check.look();
  expect(lines).toHaveLength(1);
  await vi.waitFor(() => expect(lines).toHaveLength(2), { timeout: timeLimit(15_000) });
});

test('what is found after all is not told of', async () => {
  const status: { now: UpstreamState['status'] } = { now: 'down' };
  const { check, lines, unmatched } = startCheck(status, 30);
  check.begin();
  unmatched.pop();
  status.now = 'up';
  check.look();
  unmatched.push({ entry: 'lane', pattern: 'other', nearest: [] });
  await vi.waitFor(() => {
    check.look();
    expect(lines).toHaveLength(1);
  });
  expect(lines[0]).toContain('"lane":"other"');
});

test('once stopped it tells nothing', async () => {
  const { check, lines } = startCheck({ now: 'up' }, 10);
  check.stop();
  check.begin();
  check.look();
  expect(lines).toEqual([]);
});
