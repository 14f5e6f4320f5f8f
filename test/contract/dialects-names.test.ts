import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { toKeyEntry } from '#test/auth/access-client.ts';
import { askTurn, bodyOf, chatCall, postTurn, TurnAnswer } from '#test/support/dialect-client.ts';
import { toolThat } from '#test/support/misbehaving-tools.ts';
import { type RunningService, startService } from '#test/support/start-service.ts';

let service: RunningService;

const named = (name: string) => toolThat(name, () => `I am ${name}`);

beforeAll(async () => {
  service = await startService({}, [named('billing.find'), named('7zip'), named('__proto__'), named('toString')]);
});

afterAll(() => service.stop());

const BODIES = {
  'openai-chat': (name: string) => [chatCall('c', name, {})],
  'openai-responses': (name: string) => [{ type: 'function_call', call_id: 'c', name, arguments: '{}' }],
  anthropic: (name: string) => [{ type: 'tool_use', id: 'c', name, input: {} }],
  gemini: (name: string) => [{ functionCall: { id: 'c', name, args: {} } }],
  vapi: (name: string) => ({ message: { type: 'tool-calls', toolCallList: [{ id: 'c', name, arguments: {} }] } }),
  langchain: (name: string) => [{ type: 'tool_call', id: 'c', name, args: {} }],
} as const;

test.each(Object.entries(BODIES))(
  '%s: a portable name calls the tool it stands for, and so does its own',
  async (_, toBody) => {
    for (const [sent, name] of [
      ['billing_find', 'billing.find'],
      ['billing.find', 'billing.find'],
      ['_7zip', '7zip'],
      ['__proto__', '__proto__'],
      ['toString', 'toString'],
    ] as const) {
      const { results, messages } = await askTurn(service, toBody(sent));
      expect(results[0]).toMatchObject({ id: 'c', name, success: true, value: `I am ${name}` });
      // What the model is told of is what it called.
      for (const [, told] of JSON.stringify(messages).matchAll(/"name":"([^"]+)"/g)) expect(told).toBe(sent);
    }
  },
);

test.each(Object.entries(BODIES))('%s: no other name is taken for a tool', async (_, toBody) => {
  for (const name of [
    'Billing_Find',
    'billing_find ',
    'functions.billing_find',
    'billing-find',
    '7_zip',
    'constructor',
    '',
  ]) {
    const { results } = await askTurn(service, toBody(name));
    expect(results[0]).toMatchObject({ name, success: false, executed: 'no' });
    expect(results[0]?.error?.code).toBe(name === '' ? 'invalid_call' : 'unknown_tool');
  }
});

test.each(['native', 'text'])('%s: a name is taken as it stands', async (format) => {
  const answer = await postTurn(service, { calls: [{ name: 'billing_find' }], format });
  expect(bodyOf(answer)).toMatchObject({ results: [{ name: 'billing_find', error: { code: 'unknown_tool' } }] });
});

test('a portable name may be called by a key that may use its tool, and by no other', async () => {
  const API_KEYS = `${toKeyEntry('acme', 'full')},${toKeyEntry('acme', 'some', 'tools=billing_*')}`;
  const guarded = await startService({ API_KEYS }, [named('billing.find')]);
  onTestFinished(guarded.stop);
  const codeFor = async (key: string): Promise<unknown> => {
    const body = BODIES.anthropic('billing_find');
    const { results } = TurnAnswer.parse(bodyOf(await postTurn(guarded, body, '', { 'x-api-key': key })));
    return results[0]?.error?.code ?? results[0]?.value;
  };
  expect(await codeFor('full')).toBe('I am billing.find');
  expect(await codeFor('some')).toBe('not_authorized');
});
