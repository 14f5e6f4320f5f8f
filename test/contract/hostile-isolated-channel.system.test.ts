import {
  answerAlone,
  answerBoth,
  becomes,
  droppedAs,
  type IsolatedLab,
  restartsFor,
  startIsolated,
  toVerdict,
} from '@recourse/test-support/hostile-tools/isolated-lab.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let service: IsolatedLab;

beforeAll(async () => {
  service = await startIsolated(['channel']);
});

afterAll(() => service.stopClean());

test('an answer under a nonce that nobody gave is dropped, and the genuine one counts', async () => {
  const before = await droppedAs(service, 'forged');
  for (const result of await answerBoth(service, { name: 'guesses_a_nonce', arguments: {} }))
    expect(result).toMatchObject({ outcome: 'success', executed: 'yes', value: 'genuine' });
  expect(await droppedAs(service, 'forged')).toBe(before + 2);
});

test('of several answers the first counts', async () => {
  const before = await droppedAs(service, 'second');
  for (const result of await answerBoth(service, { name: 'answers_three_times', arguments: {} }))
    expect(result).toMatchObject({ outcome: 'success', executed: 'yes', value: 'first' });
  // The handler's own answer is a second one, too.
  await becomes(() => droppedAs(service, 'second'), before + 4);
  expect(await answerAlone(service, { name: 'good_of_this_file' })).toMatchObject({ value: 'genuine' });
});

const UNUSABLE = ['answers_with_no_json', 'answers_with_depths', 'answers_with_nothing'];

test.each([...UNUSABLE, 'closes_its_channel'])('%s is taken for a crash', async (name) => {
  const before = await restartsFor(service, 'flood');
  for (const result of await answerBoth(service, { name, arguments: {} }))
    expect(toVerdict(result)).toEqual({
      code: 'tool_crashed',
      outcome: 'retry',
      executed: 'maybe',
      value: null,
      message: `Tool '${name}' crashed while running. It is safe to call it again; other arguments may help.`,
    });
  if (UNUSABLE.includes(name)) expect(await restartsFor(service, 'flood')).toBe(before + 2);
  expect(await answerAlone(service, { name: 'good_of_this_file' })).toMatchObject({ value: 'genuine' });
});

test('a value that is larger than the host may send is not passed on', async () => {
  for (const { success, value } of await answerBoth(service, { name: 'answers_more_than_allowed', arguments: {} }))
    expect([success, value]).toEqual([false, null]);
});

test('a code that is for the service to say is dropped', async () => {
  for (const result of await answerBoth(service, { name: 'answers_with_a_service_code', arguments: {} }))
    expect(result).toMatchObject({ outcome: 'success', value: 'genuine' });
});

test('a forged text shows no stack', async () => {
  for (const { message } of await answerBoth(service, { name: 'answers_with_a_stack', arguments: {} }))
    expect(message).not.toContain('/srv/secret');
});

test('a write tool that began can make itself safe to repeat only by its own word', async () => {
  for (const result of await answerBoth(service, { name: 'claims_that_nothing_ran', arguments: {} }))
    expect(result).toMatchObject({ success: false, error: { code: 'tool_exception' } });
});

test('a host that calls itself unusable answers its call and is replaced', async () => {
  const before = await restartsFor(service, 'recycle');
  for (const result of await answerBoth(service, { name: 'says_it_is_unusable', arguments: {} }))
    expect(result).toMatchObject({ outcome: 'success', value: 'genuine' });
  await becomes(() => restartsFor(service, 'recycle'), before + 2);
});

test('a message that never ends holds up its own call only, to its deadline', async () => {
  const name = 'begins_a_message_that_never_ends';
  for (const result of await answerBoth(service, { name, arguments: {}, timeout_ms: 300 }))
    expect(toVerdict(result)).toEqual({
      code: 'timeout',
      outcome: 'retry',
      executed: 'maybe',
      value: null,
      message: `Tool '${name}' timed out after 300 ms. It is safe to call it again; ask for less.`,
    });
  expect(await answerAlone(service, { name: 'good_of_this_file' })).toMatchObject({ value: 'genuine' });
});
