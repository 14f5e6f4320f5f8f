import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { askTurn, bodyOf, chatCall, postTurn, TurnAnswer } from '@recourse/test-support/dialect-client.ts';
import { toolThat } from '@recourse/test-support/misbehaving-tools.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

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
    for (const [sent, tool] of [
      ['billing_find', 'billing.find'],
      ['billing.find', 'billing.find'],
      ['_7zip', '7zip'],
      ['__proto__', '__proto__'],
      ['toString', 'toString'],
    ] as const) {
      const { results, messages } = await askTurn(service, toBody(sent));
      // The name asked for, in the results as in what the model is told.
      expect(results[0]).toMatchObject({ id: 'c', name: sent, success: true, value: `I am ${tool}` });
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

test('a portable name may be called by a key that may use its tool; another key does not learn the exact one', async () => {
  const API_KEYS = [
    toKeyEntry('acme', 'full'),
    toKeyEntry('acme', 'exact', 'tools=billing.*'),
    toKeyEntry('acme', 'other', 'tools=billing_*'),
  ].join();
  const guarded = await startService({ API_KEYS }, [named('billing.find')]);
  onTestFinished(guarded.stop);
  const ask = (key: string) => postTurn(guarded, BODIES.anthropic('billing_find'), '', { 'x-api-key': key });
  for (const key of ['full', 'exact'])
    expect(TurnAnswer.parse(bodyOf(await ask(key))).results).toMatchObject([
      { name: 'billing_find', value: 'I am billing.find' },
    ]);
  const refused = await ask('other');
  expect(TurnAnswer.parse(bodyOf(refused)).results).toMatchObject([
    { name: 'billing_find', executed: 'no', error: { code: 'not_authorized' } },
  ]);
  expect(refused.body).not.toContain('billing.find');
});

test('budgets, journal and metrics know a tool by its own name, whatever it was called by', async () => {
  const name = 'crm.broken';
  const fail = (): never => {
    throw new Error('no');
  };
  const counted = await startService({}, [toolThat(name, fail)]);
  onTestFinished(counted.stop);
  await askTurn(counted, BODIES.anthropic('crm_broken'), '?session_id=s');
  await postTurn(counted, { session_id: 's', calls: [{ name }] });
  const view: unknown = await (await fetch(`${counted.url}/sessions/s`)).json();
  expect(view).toMatchObject({
    tools: [{ name, used: 1 }],
    calls: [
      { tool: name, name: 'crm_broken' },
      { tool: name, name },
    ],
  });
  const metrics = await (await fetch(`${counted.url}/metrics`)).text();
  expect(metrics).toContain('tool="crm.broken"');
  expect(metrics).not.toContain('crm_broken');
});
