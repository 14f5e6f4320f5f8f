import { Writable } from 'node:stream';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { pino } from 'pino';
import { build } from 'pino-pretty';
import { expect, test } from 'vitest';
import { createRedactor } from '#src/redaction/service-redactor.ts';
import { createCallLog } from '#src/telemetry/log-lines.ts';
import { createLogHooks } from '#src/telemetry/logger.ts';

const SECRET = 'kx3vQ81n"UzT5';
const redactor = createRedactor({ secrets: [SECRET] });
const hooks = createLogHooks(redactor);

const writeAll = (log: pino.Logger): void => {
  const fields = { [SECRET]: SECRET, deep: { list: [encodeURIComponent(SECRET)] } };
  log.info(fields, SECRET);
  log.child({ request_id: SECRET }).warn({ err: new Error(SECRET) }, 'failed');
  createCallLog(
    log,
    redactor,
  )({ requestId: SECRET, tool: 'a', callId: SECRET }).error(`it is sk-abcdefghijklmnopqrstuvwx`, fields);
};

test('no line of the log shows a secret, whoever wrote it and in whatever part of it', () => {
  const lines: string[] = [];
  writeAll(pino({ base: null, hooks }, { write: (line: string) => void lines.push(line) }));
  expect(lines).toHaveLength(3);
  const text = lines.map((line) => JSON.stringify(JSON.parse(line))).join('\n');
  expect(text).not.toMatch(/kx3vQ81n|UzT5|sk-abc/);
  expect(text).toContain('"msg":"[redacted]"');
});

test('nor does a line on a terminal', async () => {
  const chunks: string[] = [];
  const destination = new Writable({
    write: (chunk, _encoding, done) => {
      chunks.push(String(chunk));
      done();
    },
  });
  const pretty = build({ sync: true, colorize: true, destination });
  writeAll(pino({ base: null, hooks }, pretty));
  await expect.poll(() => chunks.join('').split('it is').length, { timeout: timeLimit(15_000) }).toBe(2);
  expect(chunks.join('')).not.toMatch(/kx3vQ81n|UzT5|sk-abc/);
});

test('what a terminal would obey stands in a line as its escape, and says the same', () => {
  const lines: string[] = [];
  const log = pino({ base: null, hooks }, { write: (line: string) => void lines.push(line) });
  const hostile = 'a\u009b31mred\u007f\u202eesrever\u2066b\u2028c\u2029 — ä…';
  log.info({ name: hostile }, 'said');
  expect(lines.join('')).not.toMatch(/[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/);
  expect(lines.join('')).toContain('a\\u009b31mred\\u007f\\u202eesrever\\u2066b\\u2028c\\u2029 — ä…');
  expect(JSON.parse(lines.join(''))).toMatchObject({ name: hostile });
});
