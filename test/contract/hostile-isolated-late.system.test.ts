import {
  answerAlone,
  answerBoth,
  answerInFullBatch,
  becomes,
  type IsolatedLab,
  restartsFor,
  startIsolated,
} from '@recourse/test-support/hostile-tools/isolated-lab.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let service: IsolatedLab;

beforeAll(async () => {
  service = await startIsolated(['late']);
});

afterAll(() => service.stopClean());

const ANSWERED = { outcome: 'success', executed: 'yes', value: 'answered', message: '', error: null };

const thrownLate = async (tool: string): Promise<number> =>
  (await service.metric(`recourse_late_results_total{tool="${tool}",ended="threw"}`)) ?? 0;

test.each([
  ['throws_late', 'thrown after the answer'],
  ['rejects_late', 'rejected after the answer'],
  ['emits_late', 'emitted after the answer'],
])('what %s throws after its answer is counted and told, and its process is replaced', async (name, text) => {
  const recycled = await restartsFor(service, 'recycle');
  expect(await answerAlone(service, { name, arguments: {} })).toMatchObject(ANSWERED);
  await becomes(() => thrownLate(name), 1);
  await becomes(() => restartsFor(service, 'recycle'), recycled + 1);
  expect(await answerInFullBatch(service, [{ name, arguments: {} }])).toMatchObject([ANSWERED]);
  await becomes(() => thrownLate(name), 2);
  await becomes(() => restartsFor(service, 'recycle'), recycled + 2);
  const line = service.logLines().find(({ msg, tool }) => msg === 'tool threw outside of a call' && tool === name);
  expect(line).toMatchObject({ level: 40, file: 'late.ts', causes: [{ type: 'Error', message: text }] });
  expect(await answerAlone(service, { name: 'quiet_neighbour' })).toMatchObject({ success: true, value: 'quiet' });
});

test.each([
  ['exits_late', 'exit', { exit_code: 9, signal: null }],
  ['aborts_late', 'crash', { exit_code: null, signal: 'SIGABRT' }],
] as const)('%s costs nobody else a call', async (name, reason, end) => {
  const before = await restartsFor(service, reason);
  expect(await answerAlone(service, { name, arguments: {} })).toMatchObject(ANSWERED);
  await becomes(() => restartsFor(service, reason), before + 1);
  expect(await answerInFullBatch(service, [{ name, arguments: {} }])).toMatchObject([ANSWERED]);
  await becomes(() => restartsFor(service, reason), before + 2);
  expect(service.logLines().find(({ msg, restart }) => msg === 'tool host ended' && restart === reason)).toMatchObject({
    level: 40,
    file: 'late.ts',
    killed_for: null,
    ...end,
  });
  expect(await answerAlone(service, { name: 'quiet_neighbour' })).toMatchObject({ success: true, value: 'quiet' });
});

test('a call after one whose tool spins on is run by another process', async () => {
  const spinning = () => service.logLines().filter(({ line }) => line === 'spinning now').length;
  expect(await answerAlone(service, { name: 'spins_late' })).toMatchObject(ANSWERED);
  await becomes(spinning, 1);
  const next = await answerAlone(service, { name: 'quiet_neighbour', timeout_ms: 10_000 });
  expect(next).toMatchObject({ outcome: 'success', value: 'quiet' });
});

test('a promise that its tool lost does not end the call, and is counted', async () => {
  const before = await thrownLate('rejects_unwatched');
  for (const result of await answerBoth(service, { name: 'rejects_unwatched', arguments: {} }))
    expect(result).toMatchObject(ANSWERED);
  await becomes(() => thrownLate('rejects_unwatched'), before + 2);
});

test('calls of a file that throws late are all answered, however closely they follow', async () => {
  const names = ['throws_late', 'quiet_neighbour', 'rejects_late', 'exits_late', 'quiet_neighbour'];
  for (let round = 0; round < 4; round += 1) {
    const results = await answerInFullBatch(
      service,
      names.map((name) => ({ name, arguments: {} })),
    );
    // What a late error catches in the middle has crashed; nothing may be said of it but that.
    expect(results.every(({ success, error }) => success || error?.code === 'tool_crashed')).toBe(true);
  }
});
