import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  answerAlone,
  answerBoth,
  answerInFullBatch,
  becomes,
  findByArgument,
  findHosts,
  type IsolatedLab,
  startIsolated,
  toVerdict,
} from '@recourse/test-support/hostile-tools/isolated-lab.ts';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

let service: IsolatedLab;

beforeAll(async () => {
  service = await startIsolated(['endless']);
});

afterAll(() => service.stopClean());

const ENDLESS = [
  'never_settles_there',
  'ignores_its_signal',
  'spins',
  'spins_in_turns',
  'catastrophic_regex',
  'waits_without_a_turn',
  'waits_for_a_child',
  'refine_hangs_there',
  'refine_spins',
  'obeys_its_signal',
  'answers_late',
];

test.each(ENDLESS)('%s ends at its deadline, alone and among 63 good calls', async (name) => {
  for (const result of await answerBoth(service, { name, arguments: {} }))
    expect(toVerdict(result)).toEqual({
      code: 'timeout',
      outcome: 'retry',
      executed: 'maybe',
      value: null,
      message: `Tool '${name}' timed out after 300 ms. It is safe to call it again; ask for less.`,
    });
});

test.each(['never_settles_there_write', 'spins_write'])('what %s did is not known', async (name) => {
  for (const result of await answerBoth(service, { name, arguments: {} }))
    expect(toVerdict(result)).toEqual({
      code: 'timeout',
      outcome: 'unknown',
      executed: 'maybe',
      value: null,
      message: `Tool '${name}' did not answer within 300 ms. It may or may not have taken effect. Check before calling it again.`,
    });
});

test('a call may shorten the limit of its tool and not lengthen it', async () => {
  const results = await answerInFullBatch(service, [
    { name: 'spins', timeout_ms: 50 },
    { name: 'spins', timeout_ms: 1_000_000 },
  ]);
  expect(results.map(({ message }) => message)).toEqual([
    "Tool 'spins' timed out after 50 ms. It is safe to call it again; ask for less.",
    "Tool 'spins' timed out after 300 ms. It is safe to call it again; ask for less.",
  ]);
});

/** Lets a call of this tool reach its deadline, and tells in which process it ran. */
const findProcessOf = async (name: string): Promise<number> => {
  const folder = mkdtempSync(join(tmpdir(), 'recourse-endless-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'pid');
  const result = await answerAlone(service, { name, arguments: { path }, timeout_ms: 1000 });
  expect(result.error?.code).toBe('timeout');
  return Number(readFileSync(path, 'utf8'));
};

test('the process of a spinning call is gone soon after, and the next call has another one', async () => {
  const pid = await findProcessOf('spins_in_a_known_process');
  await becomes(() => findHosts().includes(pid), false);
  const next = await answerAlone(service, { name: 'tells_its_process' });
  expect(next).toMatchObject({ outcome: 'success', executed: 'yes' });
  expect(next.value).not.toBe(pid);
});

test('what a killed call had started is gone with it', async () => {
  await answerAlone(service, { name: 'waits_for_a_child' });
  await becomes(() => findByArgument('86400.25'), []);
});

test('a tool that obeys its signal keeps its process', async () => {
  // It has 20 ms to obey: while other processes start it may be late, and be killed; not each time.
  const survives = async (): Promise<boolean> => {
    const pid = await findProcessOf('obeys_in_a_known_process');
    await answerAlone(service, { name: 'answers_late', timeout_ms: 50 });
    return findHosts().includes(pid);
  };
  await becomes(survives, true);
});

test('an answer that comes after the deadline is counted and not taken', async () => {
  const late = () => service.metric('recourse_late_results_total{tool="answers_late",ended="returned"}');
  const before = (await late()) ?? 0;
  expect((await answerAlone(service, { name: 'answers_late', timeout_ms: 50 })).error?.code).toBe('timeout');
  await becomes(async () => ((await late()) ?? 0) > before, true);
});
