import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import {
  defineTool,
  didNotHappen,
  empty,
  happened,
  ok,
  RetryableToolError,
  TerminalToolError,
  UpstreamToolError,
  unclear,
  z,
} from 'recourse-server';

const nothing = z.object({});
const anything = z.object({ value: z.unknown() });
const forEver = (): Promise<never> => new Promise(() => undefined);

const circular = (): unknown => {
  const loop: Record<string, unknown> = {};
  loop['self'] = loop;
  return loop;
};

const THROWN = {
  plain: () => new Error('boom'),
  text: () => 'boom',
  nothing: () => null,
  secret: () => new Error(`the token ghp_${'a1B2'.repeat(9)} is refused`),
  better_call: () => new RetryableToolError('Page 5 is not there.', { hint: 'Ask for page 1.', value: { pages: 3 } }),
  better_write: () => new RetryableToolError('Half of it is done.', { executed: 'maybe', retryAfterMs: 1500 }),
  never: () => new TerminalToolError('The invoice is closed.', { hint: 'Open another one.' }),
  busy: () => new UpstreamToolError('upstream_rate_limited', 'Slow down.', { executed: 'no', retryAfterMs: 1000 }),
  gone: () => new UpstreamToolError('upstream_unavailable', 'Nobody answers.', { executed: 'maybe' }),
} as const;

const thrown = z.object({
  what: z.enum(['plain', 'text', 'nothing', 'secret', 'better_call', 'better_write', 'never', 'busy', 'gone']),
});

const toTools = (effects: 'read' | 'write', prefix: string) => {
  const shared = { description: 'A tool of the parity test.', effects };
  return [
    defineTool({ ...shared, name: `${prefix}_echo`, input: anything, run: ({ value }) => value }),
    defineTool({ ...shared, name: `${prefix}_words`, input: nothing, run: () => ok({ a: 1 }, 'One thing was found.') }),
    defineTool({ ...shared, name: `${prefix}_empty`, input: nothing, run: () => empty('No things.', []) }),
    defineTool({
      ...shared,
      name: `${prefix}_throw`,
      input: thrown,
      run: async ({ what }) => {
        await Promise.resolve();
        throw THROWN[what]();
      },
    }),
    defineTool({ ...shared, name: `${prefix}_hang`, input: nothing, run: forEver }),
    defineTool({ ...shared, name: `${prefix}_circle`, input: nothing, run: circular }),
    defineTool({ ...shared, name: `${prefix}_large`, input: nothing, run: () => 'x'.repeat(1_100_000) }),
    defineTool({
      ...shared,
      name: `${prefix}_number`,
      input: anything,
      output: z.number().min(1),
      // @ts-expect-error: what it returns is checked by the executor
      run: async ({ value }) => value,
    }),
  ];
};

/** What a ledger says of an effect: `begun` for each run, `paid` for each payment. */
const readLedger = (ledger: string, effectId: string): readonly string[] =>
  existsSync(ledger)
    ? readFileSync(ledger, 'utf8')
        .split('\n')
        .filter((line) => line.startsWith(effectId))
        .map((line) => line.slice(effectId.length + 1))
    : [];

const payment = z.object({
  /** A file. */
  ledger: z.string(),
  /** What happens to the first run of an effect. */
  first: z.enum(['answers', 'throws_before', 'throws_after', 'hangs_after', 'run', 'answer']),
  look: z.enum(['honest', 'unclear', 'throws', 'wrong_value', 'no_verdict']),
});

// A tester and a service have the process of the test itself, and only say that theirs died.
const die = (): void => {
  if (process.env['VITEST'] === undefined) process.kill(process.pid, 'SIGKILL');
};

const pay = defineTool({
  name: 'parity_pay',
  description: 'Pays, and can tell later whether it has.',
  effects: 'write',
  input: payment,
  output: z.object({ paid: z.number() }),
  run: async ({ ledger, first }, { effectId }) => {
    const accident = readLedger(ledger, effectId).length === 0 ? first : 'answers';
    appendFileSync(ledger, `${effectId} begun\n`);
    if (accident === 'throws_before') throw THROWN.gone();
    if (accident === 'run') die();
    appendFileSync(ledger, `${effectId} paid\n`);
    if (accident === 'throws_after') throw THROWN.gone();
    if (accident === 'answer') die();
    if (accident === 'hangs_after') await forEver();
    return ok({ paid: 1 }, 'It is paid.');
  },
  // @ts-expect-error: what it returns is checked by whoever asks it
  reconcile: ({ input, effectId }) => {
    if (input.look === 'unclear') return unclear({ retryAfterMs: 3_600_000 });
    if (input.look === 'throws') throw new Error('The bank is closed.');
    if (input.look === 'no_verdict') return { paid: 1 };
    const count = readLedger(input.ledger, effectId).filter((line) => line === 'paid').length;
    if (count === 0) return didNotHappen('The bank has no such payment.');
    return happened(input.look === 'wrong_value' ? 'paid' : { paid: count }, 'The bank has it.');
  },
});

export const tools = [
  pay,
  ...toTools('read', 'parity_read'),
  ...toTools('write', 'parity_write'),
  defineTool({
    name: 'parity_fatal',
    description: 'Fails for good.',
    effects: 'read',
    gracefulErrors: false,
    input: nothing,
    run: () => {
      throw new TypeError('no such thing');
    },
  }),
  defineTool({
    name: 'parity_once',
    description: 'Runs once in a session.',
    effects: 'read',
    maxCallsPerSession: 1,
    input: nothing,
    run: () => 'once',
  }),
  defineTool({
    name: 'parity_alone',
    description: 'Runs one call at a time.',
    effects: 'read',
    concurrency: 1,
    input: nothing,
    run: forEver,
  }),
  defineTool({
    name: 'parity_down',
    description: 'Its upstream is down.',
    effects: 'read',
    input: nothing,
    run: () => {
      throw THROWN.gone();
    },
  }),
  defineTool({
    name: 'parity_context',
    description: 'Says what it knows of its call.',
    effects: 'idempotent',
    input: nothing,
    run: (
      _input,
      { session, callId, effects, retriesLeft, isLastAttempt, timeoutMs, idempotencyKey, progress, log },
    ) => {
      progress({ progress: 1, total: 2 });
      log.info('asked', { timeoutMs });
      return { session, callId, effects, retriesLeft, isLastAttempt, timeoutMs, idempotencyKey };
    },
  }),
  defineTool({
    name: 'parity_schema',
    description: 'Has a schema with rules.',
    effects: 'read',
    input: {
      type: 'object',
      properties: { count: { type: 'integer', minimum: 1 }, day: { type: 'string', format: 'date' } },
      required: ['count'],
    },
    run: (input) => input,
  }),
  defineTool({
    name: 'other_tool',
    description: 'The key of the test may not use it.',
    effects: 'read',
    input: nothing,
    run: () => 'used',
  }),
];
