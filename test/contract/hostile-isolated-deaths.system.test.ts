import {
  answerAlone,
  answerBoth,
  becomes,
  type IsolatedLab,
  lineOf,
  restartsFor,
  startIsolated,
  toVerdict,
} from '@recourse/test-support/hostile-tools/isolated-lab.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

let service: IsolatedLab;

beforeAll(async () => {
  service = await startIsolated(['exits']);
});

afterAll(() => service.stopClean());

// Deaths in a row delay the file's next process; an answer ends the row.
beforeEach(async () => {
  const endRow = async () => (await answerAlone(service, { name: 'sees_its_parent' })).outcome;
  await expect.poll(endRow, { timeout: timeLimit(25_000), interval: 100 }).toBe('success');
});

/** How a tool ends its process → how that is told in the log. */
const DEATHS: readonly (readonly [name: string, end: string])[] = [
  ['exits_with_0', 'exit code 0'],
  ['exits_with_0_idempotent', 'exit code 0'],
  ['exits_with_7', 'exit code 7'],
  ['exits_later', 'exit code 3'],
  ['aborts', 'signal SIGABRT'],
  ['segfaults', 'signal SIGSEGV'],
  ['kills_itself', 'signal SIGKILL'],
  ['ends_itself', 'signal SIGTERM'],
  ['kills_its_group', 'signal SIGKILL'],
];

test.each(DEATHS)('%s takes only itself with it, alone and among 63 good calls', async (name, end) => {
  for (const result of await answerBoth(service, { name, arguments: {} })) {
    expect(toVerdict(result)).toEqual({
      code: 'tool_crashed',
      outcome: 'retry',
      executed: 'maybe',
      value: null,
      message: `Tool '${name}' crashed while running. It is safe to call it again; other arguments may help.`,
    });
    expect(lineOf(service, result)).toMatchObject({
      level: 40,
      tool: name,
      code: 'tool_crashed',
      causes: [{ type: 'ToolHostEnded', message: expect.stringContaining(`ended: ${end}.`) }],
    });
  }
  expect(await answerAlone(service, { name: 'sees_its_parent' })).toMatchObject({ outcome: 'success', value: true });
});

test.each(['exits_with_0_write', 'aborts_write'])('what %s did before is not known', async (name) => {
  for (const result of await answerBoth(service, { name, arguments: {} }))
    expect(toVerdict(result)).toEqual({
      code: 'tool_crashed',
      outcome: 'unknown',
      executed: 'maybe',
      value: null,
      message: `Tool '${name}' crashed while running. It may or may not have taken effect. Check before calling it again.`,
    });
});

test.each([
  ['throws_in_a_timer', 'retry', 'yes'],
  ['throws_in_a_timer_write', 'unknown', 'maybe'],
])('%s fails with what it threw', async (name, outcome, executed) => {
  const recycled = await restartsFor(service, 'recycle');
  for (const result of await answerBoth(service, { name, arguments: {} })) {
    expect(toVerdict(result)).toEqual({
      code: 'tool_exception',
      outcome,
      executed,
      value: null,
      message: 'RangeError: thrown where no handler could catch it',
    });
    expect(result.error?.type).toBe('RangeError');
  }
  // What threw may have left anything half done.
  await expect.poll(() => restartsFor(service, 'recycle')).toBe(recycled + 2);
});

test('the log has the last that was said to stderr', async () => {
  const result = await answerAlone(service, { name: 'complains_and_exits' });
  expect(result.message).not.toContain('licence');
  expect(lineOf(service, result)).toMatchObject({
    causes: [{ message: expect.stringMatching(/exit code 7\. .*the licence has expired \| ask for a new one$/) }],
  });
  // A file's deaths are one line a second, which may be that of a death with another code: then it dies again.
  const dieAgain = async () => {
    await answerAlone(service, { name: 'complains_and_exits' });
    return service.logLines().find(({ msg, exit_code: code }) => msg === 'tool host ended' && code === 7);
  };
  await expect
    .poll(dieAgain, { timeout: timeLimit(10_000), interval: 1100 })
    .toMatchObject({ restart: 'exit', file: 'exits.ts', exit_code: 7, signal: null, killed_for: null });
});

test('of much that was said the last is kept', async () => {
  const result = await answerAlone(service, { name: 'says_much_and_exits' });
  expect(JSON.stringify(lineOf(service, result))).toContain('line 30 of the reasons');
});

test('a password on stderr is not in the log', async () => {
  await answerAlone(service, { name: 'says_its_password_and_exits' });
  expect(JSON.stringify(service.logLines())).not.toContain('hunter2');
});

test('every death is counted by its kind', async () => {
  const [exits, crashes] = [await restartsFor(service, 'exit'), await restartsFor(service, 'crash')];
  for (const name of ['exits_with_0', 'aborts'])
    expect(await answerAlone(service, { name })).toMatchObject({ error: { code: 'tool_crashed' }, executed: 'maybe' });
  await becomes(() => restartsFor(service, 'exit'), exits + 1);
  await becomes(() => restartsFor(service, 'crash'), crashes + 1);
});
