import {
  answerAlone,
  answerBoth,
  becomes,
  type IsolatedLab,
  startIsolated,
} from '@recourse/test-support/hostile-tools/isolated-lab.ts';
import { openConnection, toPostText } from '@recourse/test-support/raw-http.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

const VARIABLES = {
  HOSTILE_TEST_SECRET: 'hunter2',
  HOSTILE_TEST_SHARED: 'for all',
  HOSTILE_TEST_GRANTED: 'for one',
  HOSTILE_TEST_REFUSED: 'for none',
};

let service: IsolatedLab;

beforeAll(async () => {
  Object.assign(process.env, VARIABLES);
  service = await startIsolated(['context', 'environment'], {
    LOG_LEVEL: 'debug',
    TOOLS_ENV: 'HOSTILE_TEST_SHARED',
    TOOLS_ENV_ALLOW: 'HOSTILE_TEST_GRANT*',
  });
});

afterAll(async () => {
  for (const name of Object.keys(VARIABLES)) delete process.env[name];
  await service.stopClean();
});

const linesThatSay = (text: string) => service.logLines().filter(({ msg }) => msg === text);

test('session, call id, retries and time cross the boundary, and log and progress come back', async () => {
  const name = 'reports_its_context';
  const calls = [{ id: 'call_7', name, arguments: {}, timeout_ms: 4000 }];
  const [first] = await service.call(calls, { session_id: 's_context' });
  const report = {
    session: expect.any(String),
    callId: 'call_7',
    retriesLeft: 3,
    isLastAttempt: false,
    timeoutMs: 4000,
    idempotencyKey: null,
    aborted: false,
  };
  expect(first).toMatchObject({ success: true, value: report });
  // An opaque key, never the caller's own id.
  expect(JSON.stringify(first?.value)).not.toContain('s_context');
  expect(linesThatSay('seen from inside')).toMatchObject([
    { level: 40, tool: name, call_id: 'call_7', fields: { fails: false, nested: { row: 7 } } },
  ]);
  expect(linesThatSay('a detail')).toHaveLength(1);
  expect(linesThatSay('progress')).toMatchObject([
    { level: 20, fields: { progress: 1, total: 2, message: 'half way' } },
  ]);
});

test('each failed round leaves one retry less, to the last', async () => {
  const seen: unknown[] = [];
  for (let round = 0; round < 4; round += 1) {
    // A member more each time: the same call would be a loop.
    const calls = [{ name: 'reports_its_context', arguments: { fails: true, round } }];
    const [result] = await service.call(calls, { session_id: 's_rounds' });
    expect(result?.error).toMatchObject({ code: 'tool_exception', type: 'Error' });
    seen.push(/"retriesLeft":\d,"isLastAttempt":(?:true|false)/.exec(result?.message ?? '')?.[0]);
  }
  expect(seen).toEqual([
    '"retriesLeft":3,"isLastAttempt":false',
    '"retriesLeft":2,"isLastAttempt":false',
    '"retriesLeft":1,"isLastAttempt":false',
    '"retriesLeft":0,"isLastAttempt":true',
  ]);
});

test('the cause chain of an exception is in the log under its reference', async () => {
  const result = await answerAlone(service, { name: 'reports_its_context', arguments: { fails: true } });
  expect(result.error?.reference).toEqual(expect.any(String));
  const lines = service.logLines().filter(({ reference }) => reference === result.error?.reference);
  expect(lines).toMatchObject([
    {
      causes: [
        { type: 'Error', stack: expect.arrayContaining([expect.stringContaining('context.ts')]) },
        { type: 'RangeError', message: 'the reason behind it' },
      ],
    },
  ]);
});

test('the signal is aborted when the deadline passes', async () => {
  const call = { name: 'waits_for_its_signal', arguments: {}, timeout_ms: timeLimit(500) };
  for (const result of await answerBoth(service, call))
    expect(result).toMatchObject({ outcome: 'retry', executed: 'maybe', error: { code: 'timeout' } });
  // A process that others of a full batch kept from the processor may be ended before it has told.
  await expect.poll(() => linesThatSay('told to end').length, { timeout: timeLimit(15_000) }).toBeGreaterThan(0);
  expect(linesThatSay('told to end').at(-1)).toMatchObject({ fields: { reason: 'TimeoutError' } });
});

test('the client goes away: a read is told, a write runs to its end', async () => {
  const before = linesThatSay('waiting').length;
  const connection = await openConnection(service.port);
  onTestFinished(() => connection.destroy());
  const calls = [{ name: 'waits_for_its_signal' }, { name: 'writes_until_it_is_done' }];
  connection.write(toPostText(JSON.stringify({ calls })));
  await becomes(() => linesThatSay('waiting').length, before + 1);
  await becomes(() => linesThatSay('writing').length, 1);
  connection.destroy();
  await becomes(() => linesThatSay('told to end').at(-1)?.['fields'], { reason: 'AbortError' });
  await becomes(() => linesThatSay('written').length, 1);
  expect(linesThatSay('written')).toMatchObject([{ fields: { aborted: false } }]);
  await becomes(() => service.metric('recourse_calls_in_flight{pool="hosted"}'), 0);
});

test('a tool sees the variables that it was given, and no other', async () => {
  const [result] = await service.call([{ name: 'tells_its_environment' }]);
  const value = result?.value;
  expect(value).toMatchObject({ HOSTILE_TEST_SHARED: 'for all', HOSTILE_TEST_GRANTED: 'for one' });
  expect(JSON.stringify(value)).not.toMatch(/hunter2|for none/);
  const known =
    /^(?:PATH|HOME|TZ|LANG|NODE_EXTRA_CA_CERTS|NODE_COMPILE_CACHE|RECOURSE_TOOL_HOST|HOSTILE_TEST_SHARED|HOSTILE_TEST_GRANTED)$/;
  expect(Object.keys(Object(value)).filter((name) => !known.test(name))).toEqual([]);
});

test.each([
  ['starts_a_process', 'child'],
  ['opens_a_connection', 'net'],
  ['writes_a_file', 'fs-write'],
  ['reads_a_file', 'fs-read'],
  ['starts_a_thread', 'worker'],
])('%s is refused where the operator has not granted %s', async (name, permission) => {
  const granted = ['fs-read', 'fs-write', 'net', 'child'].filter((other) => other !== permission);
  const lab = await startIsolated(['permissions'], { TOOLS_PERMISSIONS: granted.join(',') });
  onTestFinished(lab.stop);
  for (const result of await answerBoth(lab, { name, arguments: {} })) {
    expect(result).toMatchObject({
      outcome: 'retry',
      executed: 'yes',
      value: null,
      error: { code: 'tool_exception', type: 'Error' },
    });
    expect(result.message).toMatch(/^Error: (?:connect ERR_ACCESS_DENIED )?Access to this API has been restricted\./);
  }
});
