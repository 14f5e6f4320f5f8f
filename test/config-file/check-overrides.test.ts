import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { UpstreamState } from '#src/tools/offers/tool-source.ts';
import { createOverrideCheck } from '#src/wiring/check-overrides.ts';

const startCheck = (status: { now: UpstreamState['status'] }) => {
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(line) });
  const board = { findUnmatched: () => [{ pattern: 'serach', nearest: ['search'] }] };
  const upstreams = (): readonly UpstreamState[] => [
    { name: 'mcp:a', status: status.now, reason: null, tools: 0, reconnects: 0 },
  ];
  return { check: createOverrideCheck(board, upstreams, log), lines };
};

test('an entry that fits nothing is told of once, however often tools come and go, and again when there are others', () => {
  const { check, lines } = startCheck({ now: 'up' });
  check.look();
  expect(lines).toHaveLength(0);
  check.begin();
  check.look();
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('"override":"serach","nearest":["search"]');
  check.forget();
  check.look();
  expect(lines).toHaveLength(2);
});

test.each(['connecting', 'down'] as const)('nothing is told while something that may have the tool is %s', (away) => {
  const status: { now: UpstreamState['status'] } = { now: away };
  const { check, lines } = startCheck(status);
  check.begin();
  expect(lines).toHaveLength(0);
  status.now = 'held';
  check.look();
  expect(lines).toHaveLength(1);
});
