import { toolThat, toolThatThrows } from '@recourse/test-support/misbehaving-tools.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { RetryableToolError } from 'recourse-server';
import { afterAll, beforeAll, expect, test } from 'vitest';

class OrderNotFound extends Error {
  override readonly name = 'OrderNotFound';
  readonly hint = 'Call list_orders first';
}

const forever = new Promise<never>(() => undefined);
const LONG_HINT = `Read the manual ${'h'.repeat(1500)}`;

const TOOLS = [
  toolThatThrows('no_order', () => new OrderNotFound('there is no order 7')),
  toolThatThrows(
    'no_page',
    () => new RetryableToolError('No such page. Try again later. It was 9.', { hint: 'Ask for page 1.' }),
  ),
  toolThatThrows('only_advice', () => new RetryableToolError('Please try again in 2.5 seconds.')),
  toolThatThrows(
    'says_hint',
    () => new RetryableToolError('Use an id from list_orders.', { hint: 'Use an id from list_orders.' }),
  ),
  toolThatThrows(
    'nearest',
    () => new RetryableToolError('The nearest is notes.md, not note.md.', { hint: 'notes.md' }),
  ),
  toolThatThrows('ends_hint', () => new RetryableToolError('No row 7. Ask list_rows.', { hint: 'Ask list_rows' })),
  toolThatThrows('example', () => new RetryableToolError('No way. Try other ids, e.g. those of list_rows. It was 9.')),
  toolThatThrows('usage', () => new RetryableToolError('Not known. Retry in place is an option of version 2.')),
  toolThatThrows('long_hint', () => new RetryableToolError('m'.repeat(3000), { hint: LONG_HINT })),
  toolThat('hangs', () => forever, { timeoutMs: 20 }),
  toolThat('hangs_writing', () => forever, { timeoutMs: 20, effects: 'write' }),
];

let service: RunningService;

beforeAll(async () => {
  service = await startService({ SESSION_RETRIES: '1' }, TOOLS);
});

afterAll(async () => {
  expect(await service.metric('recourse_contract_violations_total')).toBe(0);
  await service.stop();
});

const askTwice = async (name: string, args: object = {}) => {
  const session = { session_id: `advice of ${name}` };
  const [first] = await service.call([{ name, arguments: { ...args, round: 1 } }], session);
  const [last] = await service.call([{ name, arguments: { ...args, round: 2 } }], session);
  return [first, last].map((result) => [result?.message, result?.error?.hint, result?.retry?.allowed]);
};

const GIVE_UP = 'Use another tool, or say what could not be done.';
const ONE_LEFT = 'This was attempt 1 of 4; one retry is left.';

test('an exception has its hint in its message, once, until no retry is left', async () => {
  expect(await askTwice('no_order')).toEqual([
    [`OrderNotFound: there is no order 7. Call list_orders first. ${ONE_LEFT}`, 'Call list_orders first', true],
    [`OrderNotFound: there is no order 7. No retries are left for 'no_order'. ${GIVE_UP}`, null, false],
  ]);
});

test('a message that holds the hint already is not told it twice', async () => {
  expect(await askTwice('says_hint')).toEqual([
    [`Use an id from list_orders. ${ONE_LEFT}`, 'Use an id from list_orders.', true],
    [`No retries are left for 'says_hint'. ${GIVE_UP}`, null, false],
  ]);
});

test('sentences of a tool that advise another try are left out where no retry is left', async () => {
  expect(await askTwice('no_page')).toEqual([
    [`No such page. Try again later. It was 9. Ask for page 1. ${ONE_LEFT}`, 'Ask for page 1.', true],
    [`No such page. It was 9. No retries are left for 'no_page'. ${GIVE_UP}`, null, false],
  ]);
  expect((await askTwice('only_advice')).at(-1)).toEqual([
    `No retries are left for 'only_advice'. ${GIVE_UP}`,
    null,
    false,
  ]);
});

test('only whole sentences are left out: a hint within one, and words that give no advice, stay', async () => {
  const lasts = ['nearest', 'ends_hint', 'example', 'usage'].map(async (name) => (await askTwice(name)).at(-1)?.[0]);
  const end = (name: string): string => ` No retries are left for '${name}'. ${GIVE_UP}`;
  expect(await Promise.all(lasts)).toEqual([
    `The nearest is notes.md, not note.md.${end('nearest')}`,
    `No row 7.${end('ends_hint')}`,
    `No way. It was 9.${end('example')}`,
    `Not known. Retry in place is an option of version 2.${end('usage')}`,
  ]);
});

test('of a message that is too long, what stands before the hint is cut', async () => {
  const [first, last] = await askTwice('long_hint');
  const hint = `Read the manual ${'h'.repeat(983)}…`;
  expect(first?.[1]).toBe(hint);
  expect(first?.[0]).toHaveLength(2000);
  expect(String(first?.[0])).toContain(`m… ${hint} ${ONE_LEFT}`);
  expect(String(last?.[0])).toMatch(/^m{900,}… No retries are left for 'long_hint'\. Use another tool/);
});

test('what the service says of arguments and deadlines ends without advice, too', async () => {
  expect(await askTwice('read_file', { path: 7 })).toEqual([
    [expect.stringContaining(`again. ${ONE_LEFT}`), null, true],
    [expect.stringMatching(/accepted: path.*\. No retries are left for 'read_file'\. Use another tool/s), null, false],
  ]);
  expect((await askTwice('hangs')).at(-1)).toEqual([
    `Tool 'hangs' timed out after 20 ms. No retries are left for 'hangs'. ${GIVE_UP}`,
    null,
    false,
  ]);
  expect((await askTwice('hangs_writing')).at(-1)).toEqual([
    "Tool 'hangs_writing' did not answer within 20 ms. It may or may not have taken effect. No retries are left for 'hangs_writing'. Check in another way whether it took effect, or say that its outcome is unknown.",
    null,
    false,
  ]);
});
