import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { SessionSettings } from '#src/executor/session-store.ts';
import { LEASE_MS, type ModelEnd, type ModelTool } from './model-rounds.ts';
import { PlainSessionModel } from './plain-session-model.ts';
import {
  admit,
  age,
  type CreateReplicas,
  check,
  crash,
  end,
  forget,
  late,
  type Model,
  type Real,
  read,
  repeat,
  reset,
  settle,
} from './session-commands.ts';

// Times pass in tens of seconds and nothing ends on one: a slow machine cannot turn a lease the other way.
const COOLDOWN_MS = 105_000;
const STEPS_MS = [10_000, 40_000, LEASE_MS + 5_000, COOLDOWN_MS + 5_000];

const anyTool = fc.constantFrom<ModelTool>('search', 'search', 'read', 'write', 'write', 'watch', 'once', '_unknown');
const anyCall = fc.record({ tool: anyTool, given: fc.constantFrom(1, 1, 1, 2, 3) });
// More fingerprints in one round than are kept.
const manyCalls = fc
  .constantFrom<ModelTool>('write', 'search')
  .map((tool) => Array.from({ length: 18 }, (_, place) => ({ tool, given: (place + 1) % 18 })));
const anyCalls = fc.oneof(
  { weight: 30, arbitrary: fc.array(anyCall, { minLength: 1, maxLength: 5 }) },
  { weight: 1, arbitrary: manyCalls },
);
const anyEnd = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom<ModelEnd>('failed', 'failed', 'bad', 'timeout') },
  { weight: 4, arbitrary: fc.constantFrom<ModelEnd>('answer a', 'answer a', 'answer b') },
  { weight: 2, arbitrary: fc.constantFrom<ModelEnd>('terminal', 'cut off', 'shed') },
);
const anyEnds = fc.array(anyEnd, { minLength: 1, maxLength: 4 });
const anyRound = fc.constantFrom(null, null, null, 'r1', 'r2', 'r3');
const anyReplica = fc.nat(2);

const anyCommand = fc.oneof(
  { weight: 20, arbitrary: fc.tuple(anyReplica, anyRound, anyCalls).map((terms) => admit(...terms)) },
  { weight: 20, arbitrary: fc.tuple(fc.nat(5), anyEnds).map((terms) => settle(...terms)) },
  {
    // Often: one tool in three answers ten times alike only where nothing else stops it.
    weight: 5,
    arbitrary: fc
      .tuple(anyReplica, fc.integer({ min: 2, max: 11 }), fc.tuple(anyCall), fc.tuple(anyEnd))
      .map((terms) => repeat(...terms)),
  },
  { weight: 2, arbitrary: fc.nat(5).map(crash) },
  { weight: 2, arbitrary: fc.nat(9).map(late) },
  { weight: 3, arbitrary: fc.constantFrom(...STEPS_MS).map(age) },
  { weight: 2, arbitrary: fc.tuple(anyReplica, fc.option(anyTool)).map((terms) => reset(...terms)) },
  { weight: 2, arbitrary: fc.oneof(fc.constant(null).map(forget), anyReplica.map(end)) },
  { weight: 4, arbitrary: anyReplica.map(read) },
);

const anySettings: fc.Arbitrary<SessionSettings> = fc.record({
  sessionRetries: fc.constantFrom(20, 20, 4, 2, 1, 0),
  cooldownMs: fc.constantFrom(0, 0, COOLDOWN_MS),
  ttlMs: fc.constant(86_400_000),
  maxCalls: fc.constantFrom(0, 0, 5, 12),
  maxRounds: fc.constantFrom(0, 0, 0, 4, 12),
  journal: fc.constantFrom(0, 3, 200),
});

// The Redis may be one that others use, too.
const run = randomUUID();
let sessions = 0;

/**
 * Holds a store, or several on one Redis, against the plain model in random sessions; gives the decisions and verdicts
 * that were met. Throws where they differ.
 */
export const runSessionModel = async (
  createReplicas: CreateReplicas,
  numRuns: number,
): Promise<ReadonlySet<string>> => {
  const seen = new Set<string>();
  const commands = fc.commands([anyCommand], { size: '+1', maxCommands: 60 });
  const property = fc.asyncProperty(anySettings, commands, async (settings, played) => {
    sessions += 1;
    const model: Model = { plain: new PlainSessionModel(settings), pending: [], settled: null };
    const sessionKey = `model:${run}${sessions}`;
    const real: Real = { subject: createReplicas(settings), sessionKey, pending: [], settled: null, seen, batches: 0 };
    await fc.asyncModelRun(() => ({ model, real }), played);
    await check(model, real, 0);
  });
  await fc.assert(property, { numRuns });
  return seen;
};
