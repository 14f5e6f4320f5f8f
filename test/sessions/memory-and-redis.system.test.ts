import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type {
  Admission,
  AskedTool,
  CallEnding,
  Round,
  SessionRecord,
  ToolOutcome,
} from '#src/executor/session-store.ts';
import { toMark, toRoundJournal } from '#test/support/marks.ts';
import {
  createMemoryUnderTest,
  createRedisUnderTest,
  type StoreUnderTest,
  useRedis,
} from '#test/support/session-stores-under-test.ts';
import { timeLimit } from '#test/support/time-limit.ts';

const RUNS = 400;
const LEASE_MS = 65_000;

const redis = useRedis();

type Pending = { readonly admission: Admission; readonly round: Round };

/** Plays one step in a session; tells what the store said. */
type Step = (session: {
  readonly subject: StoreUnderTest;
  readonly key: string;
  readonly open: Pending[];
  readonly settled: Admission[];
}) => Promise<unknown>;

// So that a counterexample can be read.
const named = (text: string, step: Step): Step => Object.assign(step, { [fc.toStringMethod]: () => text });

// Wider than what the executor sends: retries and limits that change, flags in any combination, any text.
const anyName = fc.constantFrom('a', 'b', 'c', '_unknown', 'toString', 'é:1');
const anyTool = fc.record<AskedTool>({
  name: anyName,
  retries: fc.nat(3),
  maxCalls: fc.constantFrom(null, null, null, 0, 2, 5),
  effects: fc.constantFrom('read', 'idempotent', 'write'),
  polling: fc.boolean(),
});
const anyTools = fc.uniqueArray(anyTool, { selector: ({ name }) => name, maxLength: 4 });
// Which of the round's tools, and which arguments.
const anyCalls = fc.array(fc.tuple(fc.nat(3), fc.constantFrom(null, '0a', '0b', '0c')), { maxLength: 6 });
const anyManyCalls = fc
  .integer({ min: 10, max: 20 })
  .map((count) => Array.from({ length: count }, (_, number) => [0, number.toString(16).padStart(2, '0')] as const));
const anyRoundId = fc.constantFrom(null, null, 'r', 's');

let batches = 0;

const anyAdmit = fc
  .tuple(anyRoundId, anyTools, fc.oneof({ weight: 9, arbitrary: anyCalls }, { weight: 1, arbitrary: anyManyCalls }))
  .map(([roundId, tools, which]) => {
    const calls = which.flatMap(([position, fingerprint]) => {
      const tool = tools[position % Math.max(1, tools.length)];
      return tool === undefined
        ? []
        : [{ tool: tool.name, counts: fingerprint !== '0c', mark: fingerprint === null ? null : toMark(fingerprint) }];
    });
    return named(`admit ${roundId} ${JSON.stringify({ tools, calls })}`, async ({ subject, key, open }) => {
      batches += 1;
      const round = { sessionKey: key, batchId: `batch_${batches}`, roundId, leaseMs: LEASE_MS, tools, calls };
      const admission = await subject.store.admit(round);
      open.push({ admission, round });
      const { step, verdicts, permits } = admission;
      return { step, verdicts, permits: Object.fromEntries(permits) };
    });
  });

const anyOutcome = fc.record<ToolOutcome>({
  name: anyName,
  failed: fc.boolean(),
  succeeded: fc.boolean(),
  interrupted: fc.boolean(),
  error: fc.string({ unit: 'grapheme', maxLength: 220 }),
});
const anyEnding = fc.record({
  ending: fc.constantFrom<CallEnding>(
    'failed',
    'failed',
    'failed',
    'answered',
    'answered',
    'looped',
    'other',
    'not_run',
  ),
  answer: fc.constantFrom('aa', 'aa', 'bb', 'cc'),
  executed: fc.boolean(),
});
const anyLine = fc.record({ tool: fc.option(anyName), json: fc.constantFrom('{}', '{"n":1}', '{"text":"é}"}') });
const anySettle = fc
  .tuple(
    fc.nat(7),
    fc.uniqueArray(anyOutcome, { selector: ({ name }) => name }),
    fc.array(anyEnding, { minLength: 1, maxLength: 6 }),
    fc.array(anyLine, { maxLength: 3 }),
  )
  .map(([which, outcomes, endings, journal]) =>
    named(`settle ${which} ${JSON.stringify({ outcomes, endings, journal })}`, async ({ open, settled }) => {
      const [pending] = open.splice(which % Math.max(1, open.length), 1);
      if (pending === undefined) return null;
      const { admission, round } = pending;
      settled.push(admission);
      const calls = round.calls.map((call, at) => {
        const { ending, answer, executed } = endings[at % endings.length] ?? NOT_RUN;
        return { ...call, ending, answer: ending === 'answered' ? toMark(answer) : null, executed };
      });
      return Object.fromEntries(await admission.settle({ outcomes, calls, journal: toRoundJournal(journal) }));
    }),
  );
const NOT_RUN = { ending: 'not_run', answer: '', executed: false } as const;

const anyLate = fc.nat(3).map((which) =>
  named(`late ${which}`, async ({ settled }) => {
    await settled[which % Math.max(1, settled.length)]?.addLate(`{"late":${which}}`);
    return null;
  }),
);
// The clocks of the two differ by what passes between two commands.
const toRecord = ({ tools, ...record }: SessionRecord) => ({
  ...record,
  mode: null,
  tools: tools.map((tool) => ({ ...tool, failedAgoMs: typeof tool.failedAgoMs })),
});
const anyRead = fc.constant(named('read', async ({ subject, key }) => toRecord(await subject.store.read(key))));
const anyReset = fc
  .constantFrom(null, 'a', 'b', '_unknown')
  .map((tool) => named(`reset ${tool}`, ({ subject, key }) => subject.store.reset(key, tool)));
const anyEnd = fc.constant(named('end', ({ subject, key }) => subject.store.end(key)));
const anyAge = fc
  .constantFrom(10_000, 70_000, 110_000)
  .map((ms) => named(`${ms} ms pass`, ({ subject, key }) => subject.age(key, ms)));
const anyForget = fc.constant(named('forget', ({ subject, key }) => subject.forget(key)));

const anySteps = fc.array(
  fc.oneof(
    { weight: 10, arbitrary: anyAdmit },
    { weight: 10, arbitrary: anySettle },
    { weight: 4, arbitrary: anyRead },
    { weight: 1, arbitrary: anyLate },
    { weight: 1, arbitrary: anyReset },
    { weight: 1, arbitrary: anyAge },
    { weight: 1, arbitrary: anyForget },
    { weight: 1, arbitrary: anyEnd },
  ),
  { maxLength: 40, size: '+1' },
);

const play = async (subject: StoreUnderTest, key: string, steps: readonly Step[]): Promise<readonly unknown[]> => {
  const session = { subject, key, open: [], settled: [] };
  const told: unknown[] = [];
  for (const step of steps) told.push(await step(session));
  return [...told, toRecord(await subject.store.read(key))];
};

const anySettings = fc.record({
  sessionRetries: fc.nat(6),
  cooldownMs: fc.constantFrom(0, 105_000),
  ttlMs: fc.constant(86_400_000),
  maxCalls: fc.constantFrom(0, 0, 5, 12),
  maxRounds: fc.constantFrom(0, 0, 3, 8),
  journal: fc.constantFrom(0, 3, 100),
});

test('memory and Redis say the same of permits, verdicts, budgets and records, step by step', {
  timeout: timeLimit(240_000),
}, async () => {
  await fc.assert(
    fc.asyncProperty(anySettings, anySteps, async (settings, steps) => {
      const key = `both:${randomUUID()}`;
      const inMemory = await play(createMemoryUnderTest(settings), key, steps);
      expect(await play(createRedisUnderTest(redis(), settings), key, steps)).toEqual(inMemory);
    }),
    { numRuns: RUNS },
  );
});
