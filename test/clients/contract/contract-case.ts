import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@recourse/test-support/start-process.ts';
import * as z from 'zod';

/** One request that a client is asked to make, and what has to come of it. */
const Operation = z.strictObject({
  /** `answer_calls`: one after the other, for a model, by one session object. */
  do: z.enum([
    'execute',
    'answer_calls',
    'stream',
    'tools',
    'recover',
    'view',
    'reset_budgets',
    'end',
    'results',
    'cancel',
  ]),
  calls: z.unknown().optional(),
  session: z.string().optional(),
  tool: z.string().optional(),
  request_id: z.string().optional(),
  options: z.record(z.string(), z.unknown()).optional(),
  /** What it returns or raises; members that are not named may be any. */
  returns: z.unknown().optional(),
  raises: z.record(z.string(), z.unknown()).optional(),
  /** The caller's mistake: a TypeError or a ValueError, and nothing is sent. */
  refuses: z.literal(true).optional(),
  at_least_ms: z.number().optional(),
  at_most_ms: z.number().optional(),
});

/** What the scripted server does with one request; a `body` is the name of one of the file's bodies. */
const ScriptedAnswer = z.strictObject({
  status: z.number().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.string().optional(),
  json: z.unknown().optional(),
  text: z.string().optional(),
  /** Has this text as often as that. */
  repeat: z.number().optional(),
  /** `reset` before an answer, `break` after half of it, `silence`, a body byte by `byte`, bytes or hints without an `end`. */
  manner: z
    .enum(['reset', 'break', 'silence', 'bytes', 'endless', 'dripping', 'hints', 'early-hint', 'early-end', 'echo'])
    .optional(),
});

const ExpectedRequest = z.strictObject({
  method: z.string().optional(),
  path: z.string().optional(),
  query: z.record(z.string(), z.string()).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.unknown().optional(),
});

const Case = z.strictObject({
  name: z.string(),
  client: z.record(z.string(), z.unknown()).optional(),
  /** In place of the scripted server's. */
  url: z.string().optional(),
  operations: z.array(Operation).min(1),
  /** One after the other, the last one for ever. */
  answers: z.array(ScriptedAnswer).optional(),
  requests: z.array(ExpectedRequest).optional(),
  /** How many requests come. */
  sent: z.union([z.number(), z.strictObject({ from: z.number(), to: z.number() })]).optional(),
  /** Every request is the same, to the byte. */
  same: z.literal(true).optional(),
});

const File = z.strictObject({
  about: z.array(z.string()),
  bodies: z.record(z.string(), z.unknown()),
  /** `Retry-After` as it comes, and its milliseconds at `now`. */
  retry_after: z.strictObject({ now: z.iso.datetime(), table: z.array(z.tuple([z.string(), z.number().nullable()])) }),
  /** Attempts so far, milliseconds that were asked for, a random number; milliseconds to wait. */
  waits: z.array(z.tuple([z.number(), z.number().nullable(), z.number(), z.number()])),
  /** Session, id of a call or turn, and the key that both clients make of them. */
  keys: z.strictObject({
    call: z.array(z.tuple([z.string(), z.string(), z.string()])),
    turn: z.array(z.tuple([z.string(), z.union([z.string(), z.number()]), z.string()])),
  }),
  /** What a model reads in place of a result. */
  texts: z.strictObject({ lost: z.string(), not_run: z.string(), still_pending: z.string(), settled: z.string() }),
  scripted: z.array(Case),
  service: z.array(Case),
});

export type Operation = z.infer<typeof Operation>;
export type ScriptedAnswer = z.infer<typeof ScriptedAnswer>;
export type ContractCase = z.infer<typeof Case>;

/** The cases that every client has to pass, from their one file. */
export const readContract = (): z.infer<typeof File> =>
  File.parse(JSON.parse(readFileSync(join(ROOT, 'clients/contract-cases.json'), 'utf8')));

/** What came of one operation. */
export const Outcome = z.looseObject({
  returns: z.unknown().optional(),
  raises: z.looseObject({}).optional(),
  refuses: z.literal(true).optional(),
  /** Everything that a log could print of what was thrown, and of the client. */
  printed: z.string().optional(),
  client: z.string().optional(),
  elapsed_ms: z.number().optional(),
});
export type Outcome = z.infer<typeof Outcome>;

/** A case on its way to a client. */
export type CaseToRun = Pick<ContractCase, 'client' | 'operations'> & { readonly url: string };

/** One client under test. */
export type ClientUnderTest = {
  readonly run: (what: CaseToRun) => Promise<readonly Outcome[]>;
  readonly toRetryAfterMs: (text: string, nowMs: number) => Promise<unknown>;
  readonly toWaitMs: (attempts: number, retryAfterMs: number | null, random: number) => Promise<unknown>;
  readonly stop: () => Promise<void>;
};
