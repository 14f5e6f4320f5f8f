import {
  answerAlone,
  answerBoth,
  becomes,
  droppedAs,
  findHosts,
  type IsolatedLab,
  residentMb,
  restartsFor,
  startIsolated,
  toVerdict,
} from '@recourse/test-support/hostile-tools/isolated-lab.ts';
import type { LogLine } from '@recourse/test-support/start-service.ts';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';

let service: IsolatedLab;

beforeAll(async () => {
  service = await startIsolated(['floods'], { LOG_LEVEL: 'debug' });
});

afterAll(() => service.stopClean());

// Five deaths in a row and the next start of a file waits; an answer in between ends the row.
afterEach(async () => {
  expect(await answerAlone(service, { name: 'quiet_between_floods' })).toMatchObject({ success: true, value: 'quiet' });
});

/** Looks again and again until stopped; gives the most that this process held above what it holds now, in MiB. */
const watchMemory = (): (() => number) => {
  const start = residentMb();
  let most = start;
  const timer = setInterval(() => {
    most = Math.max(most, residentMb());
  }, 10);
  return () => {
    clearInterval(timer);
    return Math.max(most, residentMb()) - start;
  };
};

const FLOODS = [
  'gigabyte_to_stdout',
  'gigabyte_to_stderr',
  'gigabyte_without_a_line',
  'gigabyte_of_ones_to_its_channel',
  'gigabyte_of_zeros_to_its_channel',
  'many_forged_answers',
  'many_forged_strays',
];

test.each(FLOODS)('%s is cut and killed, and costs the service no memory', async (name) => {
  const before = await restartsFor(service, 'flood');
  const lines = service.logLines().length;
  const grownMb = watchMemory();
  for (const result of await answerBoth(service, { name, arguments: {} }))
    expect(toVerdict(result)).toEqual({
      code: 'tool_crashed',
      outcome: 'retry',
      executed: 'maybe',
      value: null,
      message: `Tool '${name}' crashed while running. It is safe to call it again; other arguments may help.`,
    });
  expect(grownMb()).toBeLessThan(150);
  expect(await restartsFor(service, 'flood')).toBe(before + 2);
  // A line each at most a hundred times a second, of two floods that end at once.
  expect(service.logLines().length - lines).toBeLessThan(1000);
});

test('the process of a flood is gone', async () => {
  const killed = new Set<unknown>();
  const isFlood = ({ restart }: LogLine): boolean => restart === 'flood';
  await answerAlone(service, { name: 'gigabyte_to_stdout' });
  for (const { pid } of service.logLines().filter(isFlood)) killed.add(pid);
  expect(killed.size).toBeGreaterThan(0);
  await becomes(() => findHosts().filter((pid) => killed.has(pid)), []);
});

test('forged answers are dropped and counted', async () => {
  const before = await droppedAs(service, 'forged');
  await answerAlone(service, { name: 'many_forged_answers' });
  expect((await droppedAs(service, 'forged')) - before).toBeGreaterThan(100);
});

test.each([
  ['many_log_lines', 'logged', 'one of many'],
  ['much_progress', 'reported', 'progress'],
])('%s is cut to a thousand, and the call succeeds', async (name, value, msg) => {
  const count = () => service.logLines().filter((line) => line['msg'] === msg).length;
  for (const result of await answerBoth(service, { name, arguments: {} }))
    expect(result).toMatchObject({ outcome: 'success', executed: 'yes', value });
  expect(count()).toBe(2000);
});
