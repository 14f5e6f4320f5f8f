import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Lab, type Step, startLab, type Told } from './parity/parity-lab.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await startLab();
});

afterAll(() => lab.close());

const call = (name: string, args: object | string = {}, more: object = {}) => ({ name, arguments: args, ...more });
const both = (what: string, args: object = {}, more: object = {}) =>
  ['read', 'write'].map((effects) => call(`parity_${effects}_${what}`, args, more));
const again = (times: number, step: Step): readonly Step[] => Array.from({ length: times }, () => step);

const STEPS: readonly Step[] = [
  // What handlers return.
  {
    calls: [
      ...both('echo', { value: { a: [1, null, 'x'], b: -0.5 } }),
      ...both('echo'),
      ...both('words'),
      ...both('empty'),
    ],
  },
  { calls: [call('parity_context', {}, { id: 'c1', timeout_ms: 1234 })], session: 'context', key: 'context-1' },
  // What is wrong with a call.
  {
    calls: [
      call('parity_read_ecko'),
      call('nothing_like_it'),
      call('other_tool'),
      call('parity_read_echo', {}, { timeout_ms: -1 }),
      call(' '),
      call('parity_schema', { count: 0, day: 'today', more: 1 }),
      call('parity_schema', '{"count": 1'),
      call('parity_schema', '[1]'),
      call('parity_schema', '{"count": 12345678901234567890}'),
      call('parity_read_throw', { what: 'other' }),
      call('parity_read_echo', { value: 1 }, { id: 'same' }),
      call('parity_read_echo', { value: 1 }, { id: 'same' }),
      call('parity_read_echo', { value: 2 }, { id: 'same' }),
    ],
  },
  { calls: Array.from({ length: 65 }, () => call('parity_read_words')) },
  // What handlers throw.
  ...['plain', 'text', 'nothing', 'secret', 'better_call', 'better_write', 'never', 'busy', 'gone'].map((what) => ({
    calls: both('throw', { what }),
  })),
  { calls: [call('parity_fatal')] },
  // What is wrong with their values.
  { calls: [...both('circle'), ...both('large'), ...both('number', { value: 0 }), ...both('number', { value: 1 })] },
  // Time.
  { calls: both('hang', {}, { timeout_ms: 40 }) },
  // Rounds of a session.
  {
    calls: [call('parity_read_throw', { what: 'never' }), call('parity_read_words')],
    order: 'sequential',
    onError: 'stop',
  },
  ...again(3, { calls: [call('parity_read_throw', { what: 'never' })], session: 'loop' }),
  ...[1, 2, 3, 4, 5].map((page) => ({ calls: [call('parity_schema', { count: -page })], session: 'budget' })),
  ...[1, 2].map((round) => ({
    calls: [call('parity_write_throw', { what: 'better_call' })],
    session: `named`,
    roundId: `r${round}`,
  })),
  ...again(2, { calls: [call('parity_once')], session: 'once' }),
  ...again(4, { calls: [call('parity_read_echo', { value: 'same' })], session: 'same' }),
  // Keys.
  ...again(2, { calls: [...both('words'), call('parity_schema')], session: 'keyed', key: 'k1' }),
  { calls: both('words'), session: 'keyed', key: 'k1' },
  { calls: both('words'), key: '' },
  { calls: both('words'), session: '' },
  // A circuit, last: it stays open.
  ...again(11, { calls: [call('parity_down')] }),
];

// Within the deadline of a batch a call may wait for a process, which no tester has: the isolated service is not asked.
const SHORT_STEPS: readonly Step[] = [
  { calls: [call('parity_read_hang'), call('parity_read_words')], order: 'sequential', deadlineMs: 60 },
  { calls: [call('parity_alone'), call('parity_alone', {}, { id: 'waits' })], deadlineMs: 60 },
];

// A second attempt must not find the sessions and keys of the first.
let attempts = 0;
const toAttempt = ({ session, key, ...step }: Step): Step => ({
  ...step,
  ...(session === undefined ? {} : { session: session && `${session}-${attempts}` }),
  ...(key === undefined ? {} : { key: key && `${key}-${attempts}` }),
});

const codesOf = (told: Told): readonly string[] =>
  typeof told === 'string'
    ? [told]
    : told.map((result) => /"code":"(\w+)","type"/.exec(JSON.stringify(result))?.[1] ?? 'none');

test('a tester gives the results that a service gives, its tools inline or isolated, for every failure that a tool can meet', async () => {
  const codes = new Set<string>();
  attempts += 1;
  for (const step of STEPS.map(toAttempt)) {
    const told = await lab.byTester(step);
    for (const code of codesOf(told)) codes.add(code);
    const [inline, isolated] = await Promise.all([lab.byInline(step), lab.byIsolated(step)]);
    expect(inline, JSON.stringify(step)).toEqual(told);
    expect(isolated, JSON.stringify(step)).toEqual(told);
  }
  for (const step of SHORT_STEPS) {
    const [told, inline] = await Promise.all([lab.byTester(step), lab.byInline(step)]);
    for (const code of codesOf(told)) codes.add(code);
    expect(inline, JSON.stringify(step)).toEqual(told);
  }
  expect([...codes].toSorted()).toEqual([
    'call_limit_exceeded',
    'cancelled',
    'circuit_open',
    'idempotency_key_reused',
    'invalid_arguments',
    'invalid_call',
    'invalid_envelope',
    'invalid_idempotency_key',
    'invalid_output',
    'loop_detected',
    'none',
    'not_authorized',
    'not_executed',
    'output_too_large',
    'overloaded',
    'retry_budget_exhausted',
    'retry_requested',
    'timeout',
    'tool_exception',
    'tool_failed',
    'unknown_tool',
    'upstream_rate_limited',
    'upstream_unavailable',
  ]);
});

type Payment = { readonly first: string; readonly look: string; readonly lose?: 'run' | 'answer' };

const LOOKS = ['honest', 'unclear', 'throws', 'wrong_value', 'no_verdict'] as const;
const PAYMENTS: readonly Payment[] = [
  { first: 'answers', look: 'honest' },
  { first: 'hangs_after', look: 'honest' },
  ...LOOKS.flatMap((look) => ['throws_before', 'throws_after'].map((first) => ({ first, look }))),
];
// A process that dies is not started again at once, time after time.
const DEATHS: readonly Payment[] = [
  { first: 'answer', lose: 'answer', look: 'honest' },
  { first: 'run', lose: 'run', look: 'honest' },
  { first: 'answer', lose: 'answer', look: 'unclear' },
];

const describeEnd = (told: Told | undefined): string => {
  const result = JSON.stringify(told);
  const [outcome, executed] = ['outcome', 'executed'].map((name) => new RegExp(`"${name}":"(\\w+)"`).exec(result)?.[1]);
  const marks = ['reconciled', 'replayed'].filter((mark) => new RegExp(`"${mark}":[{t]`).test(result));
  return [outcome, executed, ...marks].join(' ');
};

let ledgers = 0;
/** A payment twice under one key, each asker with a ledger of its own. */
const payTwice = async (ask: (step: Step) => Promise<Told>, { first, look, lose }: Payment, key: string) => {
  ledgers += 1;
  const args = { ledger: join(tmpdir(), `parity-ledger-${process.pid}-${ledgers}`), first, look };
  onTestFinished(() => rmSync(args.ledger, { force: true }));
  // What failed looks is tried again after a second, and within the deadline.
  const more = { session: key, key, deadlineMs: look === 'throws' || look === 'no_verdict' ? 900 : 60_000 };
  const calls = [call('parity_pay', args, first === 'hangs_after' ? { timeout_ms: 500 } : {})];
  const once = await ask({ calls, ...more, ...(lose === undefined ? {} : { lose }) });
  const twice = await ask({ calls, ...more });
  return { once, twice, ledger: readFileSync(args.ledger, 'utf8').replaceAll(/e_\S+ /g, '') };
};

test('a payment that is looked for gets from a tester what it gets from a service, and leaves the same ledger', async () => {
  attempts += 1;
  const ends = new Set<string>();
  for (const [index, payment] of PAYMENTS.entries()) {
    const key = `pay-${attempts}-${index}`;
    const askers = [lab.byTester, lab.byInline, lab.byIsolated];
    const [told, inline, isolated] = await Promise.all(askers.map((ask) => payTwice(ask, payment, key)));
    expect(inline, JSON.stringify(payment)).toEqual(told);
    expect(isolated, JSON.stringify(payment)).toEqual(told);
    ends.add([told?.once, told?.twice].map(describeEnd).join(', then '));
  }
  expect([...ends].toSorted()).toEqual([
    'retry no reconciled, then success yes',
    'success yes reconciled, then success yes reconciled replayed',
    'success yes, then success yes replayed',
    'unknown maybe, then unknown maybe replayed',
  ]);
});

test('a run that a tester loses is answered as one whose process is killed in a service', async () => {
  attempts += 1;
  for (const [index, payment] of DEATHS.entries()) {
    const key = `dead-${attempts}-${index}`;
    const [told, isolated] = await Promise.all(
      [lab.byTester, lab.byIsolated].map((ask) => payTwice(ask, payment, key)),
    );
    const { ledger: _told, ...said } = told ?? {};
    const { ledger: _isolated, ...answered } = isolated ?? {};
    expect(answered, JSON.stringify(payment)).toEqual(said);
    expect(isolated?.ledger.split('paid').length, JSON.stringify(payment)).toBe(2);
  }
});

const anyArguments = fc.oneof(
  fc.dictionary(fc.constantFrom('value', 'what', 'count', 'day', '__proto__'), fc.jsonValue({ maxDepth: 2 })),
  fc.record({ what: fc.constantFrom('better_call', 'better_write', 'never') }),
  fc.constantFrom('', '{}', '{"value": 1e400}', '{"count": 7}', 'null', '{"value": "\\ud800"}'),
);
const anyCall = fc.record(
  {
    name: fc.constantFrom(
      'parity_read_echo',
      'parity_write_echo',
      'parity_read_throw',
      'parity_schema',
      'parity_once',
      'parity_reed_echo',
    ),
    arguments: anyArguments,
    id: fc.constantFrom('a', 'b', '', 7),
  },
  { requiredKeys: ['name'] },
);
const anyRounds = fc.array(fc.array(anyCall, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 });

test('any rounds of a session get from a tester what they get from a service', async () => {
  let sessions = 0;
  await fc.assert(
    fc.asyncProperty(anyRounds, async (rounds) => {
      sessions += 1;
      for (const calls of rounds) {
        const step = { calls, session: `any-${sessions}` };
        const [told, inline, isolated] = await Promise.all([
          lab.byTester(step),
          lab.byInline(step),
          lab.byIsolated(step),
        ]);
        expect(inline).toEqual(told);
        expect(isolated).toEqual(told);
      }
    }),
    { numRuns: 30 },
  );
});
