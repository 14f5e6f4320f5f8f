import { askAs, postAs, toKeyEntry } from '@recourse/test-support/access-client.ts';
import { startOtlpReceiver } from '@recourse/test-support/otlp-receiver.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { ToolCallsResponse, type ToolResult } from '#src/contract/tool-result.ts';
import { defineTool } from '#src/tools/define-tool.ts';
import type { Tool } from '#src/tools/tool.ts';
import { makeIssuerKey, sign, startIssuer } from '#test/auth/issuer-lab.ts';

// What callers with a key may send, and what may then be seen of it.

const KEY = `rcs_${'Q8fJ2kLmN4pR6tVx'.repeat(3)}`;

const leaky = defineTool({
  name: 'leaky',
  description: 'Throws what it was given, as its cause too, and logs it.',
  effects: 'read',
  retries: 100,
  input: z.object({ text: z.string() }),
  run: ({ text }, { log }) => {
    log.warn(`about to throw ${text}`, { text });
    throw Object.assign(new Error(text, { cause: new Error(`because of ${text}`) }), { hint: text });
  },
});

const start = async (
  environment: Readonly<Record<string, string>> = {},
  tools: readonly Tool[] = [leaky],
): Promise<RunningService> => {
  const service = await startService({ API_KEYS: toKeyEntry('acme', KEY), ...environment }, tools);
  onTestFinished(service.stop);
  return service;
};

const callAs = async (
  service: RunningService,
  credential: string,
  call: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<ToolResult> => {
  const { status, text } = await postAs(service, credential, { session_id: 's', calls: [call] }, headers);
  expect({ status, text: status === 200 ? '' : text }).toEqual({ status: 200, text: '' });
  const [result] = ToolCallsResponse.parse(JSON.parse(text)).results;
  if (result === undefined) throw new Error('There is no result.');
  return result;
};

// What is leaked, what its reader sees, and the part that must be nowhere.
const SECRETS: readonly (readonly [secret: string, shown: string, part: string])[] = [
  ['postgres://bob:hunter2hunter2@db/x', 'postgres://[redacted]@db/x', 'hunter2'],
  ['Authorization: Bearer abcdefghijklmnop', 'Authorization: Bearer [redacted]', 'abcdefghijkl'],
  ['sk-proj0123456789abcdefgh', '[redacted key]', '0123456789abcdefgh'],
  ['AKIAABCDEFGHIJKLMNOP', '[redacted key]', 'ABCDEFGHIJKLMNOP'],
  ['eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl', '[redacted token]', 'c2lnbmF0dXJl'],
  ['-----BEGIN PRIVATE KEY-----\nMIIBnothing\n-----END PRIVATE KEY-----', '[redacted private key]', 'MIIBnothing'],
  [`the key ${KEY} of the caller itself`, 'the key [redacted key] of the caller itself', KEY.slice(4, 20)],
];

test(
  'secrets in the text of a failure stand in no result, log line, span, journal or metric',
  async () => {
    const receiver = await startOtlpReceiver();
    const service = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
      TRACE_CONTENT: 'true',
      OTEL_BSP_SCHEDULE_DELAY: '100',
    });
    const results: ToolResult[] = [];
    for (const [text] of SECRETS)
      results.push(await callAs(service, KEY, { id: text, name: 'leaky', arguments: { text } }));
    for (const [at, [, shown]] of SECRETS.entries())
      expect(results[at]?.message.startsWith(`Error: ${shown} (`)).toBe(true);
    expect(results.map(({ error }) => error?.hint)).toEqual(SECRETS.map(([, shown]) => shown));
    const journal = await askAs(service, KEY, '/sessions/s');
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    const spans = await receiver.received(2 * SECRETS.length);
    const log = service.logLines();
    // Two of them read the same without their secrets, and share a line.
    expect(log.filter(({ msg }) => msg === 'tool call failed')).toHaveLength(SECRETS.length - 1);
    expect(log.filter(({ msg }) => `${msg}`.startsWith('about to throw'))).toHaveLength(SECRETS.length);
    const withoutIds = results.map((result) => ({ ...result, id: null }));
    const traced = spans.map(({ name, attributes, status }) => ({ name, attributes, status }));
    const seen = [withoutIds, log, traced, metrics].map((part) => JSON.stringify(part)).join('\n') + journal.text;
    expect(SECRETS.filter(([, , part]) => seen.includes(part))).toEqual([]);
    expect(seen).toContain('[redacted key]');
  },
  timeLimit(30_000),
);

const FORGED = '\n{"level":60,"msg":"owned"}\r\n\u001b[2J\u001b[31mowned\u2028';

test('line breaks, JSON and ANSI codes in ids, names, arguments and subjects of tokens forge no line of the log', async () => {
  const issuerKey = await makeIssuerKey('key-1');
  const issuer = await startIssuer(issuerKey);
  const service = await start({
    JWT_JWKS_URL: issuer.url,
    JWT_ISSUER: 'https://issuer.example',
    JWT_AUDIENCE: 'recourse',
  });
  for (const credential of [KEY, await sign(issuerKey, { sub: FORGED })]) {
    await callAs(service, credential, { id: FORGED, name: FORGED, arguments: FORGED });
    await callAs(service, credential, { id: FORGED, name: 'leaky', arguments: { text: FORGED } });
    await callAs(service, credential, { id: FORGED, name: 'leaky', arguments: { [FORGED]: FORGED } });
  }
  // Each line was parsed: one that was split in two would be no JSON.
  const lines = service.logLines();
  expect(lines.filter(({ level, msg }) => level === 60 || msg === 'owned')).toEqual([]);
  expect(lines.filter(({ msg }) => msg === 'batch')).toHaveLength(6);
  expect(lines.filter(({ msg }) => msg === 'batch').map(({ key }) => key)).toContain(FORGED);
  // The second caller's failures are those of the first, and share their lines.
  const failed = lines.filter(({ msg }) => msg === 'tool call failed').map(({ tool }) => tool);
  expect(failed).toEqual(['_unknown', 'leaky', 'leaky']);
});

test('a traceparent that is none is ignored: the call runs, and the log names no trace', async () => {
  const service = await start();
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const good = `00-${trace}-00f067aa0ba902b7-01`;
  const echo = { name: 'echo', arguments: { text: 'x' } };
  const malformed = [
    'garbage',
    `${good}-`,
    good.slice(1),
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    'x'.repeat(9000),
  ];
  for (const traceparent of malformed)
    expect(await callAs(service, KEY, echo, { traceparent, tracestate: '=,=;'.repeat(100) })).toMatchObject({
      success: true,
    });
  await callAs(service, KEY, echo, { traceparent: good });
  const batches = service.logLines().filter(({ msg }) => msg === 'batch');
  expect(batches.map((line) => line['trace_id'])).toEqual([...malformed.map(() => undefined), trace]);
});
