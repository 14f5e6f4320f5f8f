import { onlySpan, startOtlpReceiver } from '@recourse/test-support/otlp-receiver.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { expect, test } from 'vitest';
import { defineTool, z } from '#src/recourse.ts';
import type { Tool } from '#src/tools/tool.ts';

const SECRET = 'sk-abcdefghijklmnop0123456789';

const TOOLS: readonly Tool[] = [
  defineTool({
    name: 'sign_in',
    description: '',
    effects: 'read',
    input: z.object({ user: z.string(), password: z.string().meta({ sensitive: true }) }),
    run: ({ user }) => ({ greeting: `hello ${user}`, token: SECRET }),
  }),
  defineTool({
    name: 'break',
    description: '',
    effects: 'read',
    input: { type: 'object', additionalProperties: true },
    run: () => {
      throw new Error(`The upstream refused https://me:pass-word@example.org and ${SECRET}`);
    },
  }),
];

const CALLS = [
  { id: 'a', name: 'sign_in', arguments: { user: 'ann', password: 'hunter2-of-ann' } },
  { id: 'b', name: 'break', arguments: { note: `Bearer ${SECRET}` } },
];

const trace = async (environment: Readonly<Record<string, string>>) => {
  const receiver = await startOtlpReceiver();
  const service = await startService({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint, ...environment }, TOOLS);
  await service.call(CALLS);
  await service.stop();
  return receiver.spans();
};

const everythingIn = (spans: readonly { attributes: unknown; status: unknown; name: unknown }[]): string =>
  JSON.stringify(spans.map(({ attributes, status, name }) => ({ attributes, status, name })));

test('arguments and results are not in spans', async () => {
  const text = everythingIn(await trace({}));
  expect(text).toContain('execute_tool sign_in');
  for (const content of ['ann', 'hunter2', 'greeting', 'note', 'gen_ai.tool.call.arguments', 'gen_ai.tool.call.result'])
    expect(text).not.toContain(content);
});

test('with TRACE_CONTENT they are, without secrets and without what a schema marks sensitive', async () => {
  const spans = await trace({ TRACE_CONTENT: 'true' });
  expect(onlySpan(spans, 'execute_tool sign_in').attributes).toMatchObject({
    'gen_ai.tool.call.arguments': '{"password":"(hidden)","user":"ann"}',
    'gen_ai.tool.call.result': '{"greeting":"hello ann","token":"[redacted key]"}',
  });
  const broken = onlySpan(spans, 'execute_tool break').attributes;
  expect(broken['gen_ai.tool.call.arguments']).toMatch(/^\{"note":"Bearer \[redacted( key)?\]"\}$/);
  expect(broken).not.toHaveProperty('gen_ai.tool.call.result');
});

test('no secret of a failure is in its span', async () => {
  const spans = await trace({});
  const { status } = onlySpan(spans, 'execute_tool break');
  expect(status.code).toBe('error');
  expect(status.message).toMatch(/^Error: The upstream refused https:\/\/\[redacted\]@example\.org and \[redacted/);
  const text = everythingIn(spans);
  for (const secret of [SECRET, 'pass-word', 'hunter2']) expect(text).not.toContain(secret);
});
