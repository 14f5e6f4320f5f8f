import { answerOne } from '@recourse/test-support/check-answer.ts';
import { toolThat, toolThatThrows } from '@recourse/test-support/misbehaving-tools.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

const forever = new Promise<never>(() => undefined);

const TOOLS = [
  toolThatThrows('breaks', () => new RangeError('out of range')),
  toolThatThrows('breaks_once', () => new RangeError('out of range'), { retries: 0 }),
  toolThatThrows('writes', () => new RangeError('disk full'), { effects: 'write' }),
  toolThat('hangs', () => forever, { timeoutMs: 50 }),
  toolThat('one_at_a_time', () => forever, { timeoutMs: 5000, concurrency: 1 }),
];

let service: RunningService;
let frugal: RunningService;

beforeAll(async () => {
  service = await startService({}, TOOLS);
  frugal = await startService({ SESSION_RETRIES: '1' }, TOOLS);
});

afterAll(async () => {
  for (const one of [service, frugal]) {
    expect(await one.metric('recourse_contract_violations_total')).toBe(0);
    await one.stop();
  }
});

/** The text of the only hostile call of each of five rounds of a session. */
const sayInRounds = async (from: RunningService, entry: object, session: string): Promise<readonly string[]> => {
  const texts: string[] = [];
  for (let round = 0; round < 5; round += 1)
    texts.push((await answerOne(from, { ...entry, arguments: { round } }, { session_id: session })).message);
  return texts;
};

const BLOCKED =
  'and is blocked for this session. Do not call it again: use another tool, or say what could not be done.';

test('the budget speaks from the last retry on', async () => {
  expect(await sayInRounds(service, { name: 'breaks' }, 'texts-1')).toEqual([
    'RangeError: out of range',
    'RangeError: out of range',
    'RangeError: out of range. This was attempt 3 of 4; one retry is left.',
    "RangeError: out of range. No retries are left for 'breaks'. Use another tool, or say what could not be done.",
    `Tool 'breaks' failed 4 times in a row ${BLOCKED} Last error: RangeError: out of range`,
  ]);
});

test('a write tool has one retry, of which nothing is said where the first may have taken effect', async () => {
  expect((await sayInRounds(service, { name: 'writes' }, 'texts-2')).slice(0, 3)).toEqual([
    'RangeError: disk full',
    "RangeError: disk full. No retries are left for 'writes'. Check in another way whether it took effect, or say that its outcome is unknown.",
    `Tool 'writes' failed 2 times in a row ${BLOCKED} Last error: RangeError: disk full`,
  ]);
});

test('a tool without retries is blocked by its first failure', async () => {
  expect((await sayInRounds(service, { name: 'breaks_once' }, 'texts-3')).slice(0, 2)).toEqual([
    "RangeError: out of range. No retries are left for 'breaks_once'. Use another tool, or say what could not be done.",
    `Tool 'breaks_once' failed once ${BLOCKED} Last error: RangeError: out of range`,
  ]);
});

test('the retries of the session can be gone before those of the tool', async () => {
  const first = { session_id: 'texts-4' };
  await answerOne(frugal, { name: 'breaks' }, first);
  expect((await answerOne(frugal, { name: 'breaks' }, first)).message).toBe(
    "RangeError: out of range. No retries are left for 'breaks'. Use another tool, or say what could not be done.",
  );
  const refused = await answerOne(frugal, { name: 'breaks' }, first);
  expect(refused).toMatchObject({
    outcome: 'refused',
    executed: 'no',
    message:
      "This session has used its one retry. 'breaks' was not run; use what you have, or say what could not be done.",
    error: { code: 'retry_budget_exhausted' },
    retry: { allowed: false, limit: 3, used: 1, remaining: 0, limited_by: 'session', scope: 'session', mode: 'memory' },
  });
});

test('unknown names share one budget, however many are invented', async () => {
  const texts: string[] = [];
  for (const name of ['nope_1', 'nope_2', 'nope_3', 'nope_4', 'nope_5']) {
    // Alone in its batch: a known name beside it is no pardon, but a round of known names only is.
    const [result] = await service.call([{ name }], { session_id: 'texts-5' });
    texts.push(result?.message.replace(/Available tools: .*?\./, 'Available tools: ….') ?? '');
  }
  expect(texts).toEqual([
    'Unknown tool: nope_1. Available tools: ….',
    'Unknown tool: nope_2. Available tools: ….',
    'Unknown tool: nope_3. Available tools: …. This was attempt 3 of 4; one retry is left.',
    'Unknown tool: nope_4. Available tools: …. No retries are left for unknown names.',
    'Unknown tool: nope_5. Available tools: …. No retries are left for unknown names.',
  ]);
});

test('a retry that still runs in another batch is waited for, and the tool is not called blocked', async () => {
  const entered = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const slow = toolThat(
    'slow',
    async (input) => {
      if (!JSON.stringify(input).includes('slowly')) throw new RangeError('too fast');
      entered.resolve();
      await release.promise;
    },
    { retries: 1 },
  );
  const own = await startService({}, [slow]);
  const session = { session_id: 'texts-6' };
  await answerOne(own, { name: 'slow' }, session);
  const running = answerOne(own, { name: 'slow', arguments: { speed: 'slowly' } }, session);
  await entered.promise;
  expect((await answerOne(own, { name: 'slow' }, session)).message).toBe(
    "Not executed: the last retry of 'slow' is still running in another batch of this session. Wait for its result.",
  );
  release.resolve();
  expect((await running).success).toBe(true);
  await own.stop();
});

test('calls that must not start say why', async () => {
  const stopped = await service.call(
    [{ name: 'breaks' }, { name: 'echo', arguments: { text: 'x' } }, { name: 'nope' }],
    {
      order: 'sequential',
      on_error: 'stop',
    },
  );
  expect(stopped.slice(1).map(({ message, error }) => [error?.code, message])).toEqual(
    Array(2).fill(['not_executed', "Not executed: the preceding call to 'breaks' failed."]),
  );
  const late = await service.call([{ name: 'one_at_a_time' }, { name: 'one_at_a_time' }, { name: 'hangs' }], {
    deadline_ms: 40,
  });
  expect(late.map(({ message, error }) => [error?.code, message.replace(/after \d+ ms/, 'after 40 ms')])).toEqual([
    ['timeout', "Tool 'one_at_a_time' timed out after 40 ms. It is safe to call it again; ask for less."],
    [
      'overloaded',
      "Not executed: no slot became free before the batch's deadline. Send fewer calls at once, or try later.",
    ],
    ['timeout', "Tool 'hangs' timed out after 40 ms. It is safe to call it again; ask for less."],
  ]);
  const waited = await service.call([{ name: 'hangs' }, { name: 'echo', arguments: { text: 'x' } }], {
    order: 'sequential',
    deadline_ms: 30,
  });
  expect(waited[1]).toMatchObject({
    outcome: 'refused',
    executed: 'no',
    message: "Not executed: the batch's deadline passed before this call started.",
    error: { code: 'cancelled' },
  });
});
