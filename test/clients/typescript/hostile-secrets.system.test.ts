import { inspect } from 'node:util';
import { answering, failureOf, startHttpTarget, startTcpTarget } from '@recourse/test-support/http-target.ts';
import { expect, test } from 'vitest';
import { createRecourse, RecourseError } from '../../../clients/typescript/src/client.ts';

const KEY = 'a-secret-key-of-32-characters-xx';
const CALLS = [{ name: 'echo' }];

/** Everything that a log could print of what was thrown. */
const printed = (error: unknown): string =>
  `${String(error)} ${inspect(error, { depth: Infinity, showHidden: true })} ${JSON.stringify(error)}`;

const execute = (url: string, apiKey = KEY) => createRecourse({ url, apiKey, timeoutMs: 1_000 }).execute(CALLS);

test.each([
  ['sends everything back', (text: string) => text],
  [
    'sends it back as headers',
    (text: string) => `HTTP/1.1 200 OK\r\n${text.replace(/^.*\r\n/, '').replaceAll(':', '')}`,
  ],
  ['sends it back as a status line', (text: string) => `HTTP/1.1 200 OK ${text.replaceAll('\r\n', '\u0000')}\r\n\r\n`],
])('the key is in no error where something else than HTTP %s', async (_what, toAnswer) => {
  const target = await startTcpTarget((socket) => {
    socket.once('data', (bytes) => void socket.end(toAnswer(bytes.toString('latin1'))));
  });
  const error = await failureOf(execute(target.origin));
  expect(error).toBeInstanceOf(RecourseError);
  expect(printed(error)).not.toContain(KEY);
});

test('the client itself shows nothing of the key', () => {
  expect(printed(createRecourse({ url: 'http://127.0.0.1:9', apiKey: KEY }))).not.toContain(KEY);
});

test('the message of an error is one line of bounded length, whatever a problem says', async () => {
  const detail = `\u001b[2J\u001b[31mfine\r\n{"level":"info"}\u2028${'x'.repeat(100_000)}`;
  const body = JSON.stringify({ status: 400, code: 'bad', detail });
  const error = await failureOf(execute((await startHttpTarget(answering(400, {}, body))).origin));
  if (!(error instanceof RecourseError)) throw error;
  expect(error.message).toMatch(/^POST \/tool-calls \(400\): {2}\[2J \[31mfine \{"level":"info"\} x+$/);
  expect(error.message.length).toBeLessThan(1_100);
  expect(error.problem?.detail).toBe(detail);
});
