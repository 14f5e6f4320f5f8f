import { toHash, toRoundJournal } from '@recourse/test-support/marks.ts';
import type {
  Admission,
  CallVerdict,
  RequestedCall,
  RequestedTool,
  Round,
  RoundReport,
  SessionRecord,
  SettledCall,
  ToolOutcome,
} from '#src/executor/session-store.ts';
import type { PlainPermit } from './plain-budget-model.ts';
import type { PlainSessionAdmission } from './plain-session-model.ts';

/** The tools of random sessions. */
export const MODEL_TOOLS = {
  search: { retries: 3, maxCalls: null, effects: 'read', polling: false },
  read: { retries: 1, maxCalls: 6, effects: 'read', polling: false },
  write: { retries: 2, maxCalls: null, effects: 'write', polling: false },
  watch: { retries: 2, maxCalls: null, effects: 'idempotent', polling: true },
  once: { retries: 0, maxCalls: 3, effects: 'idempotent', polling: false },
  _unknown: { retries: 3, maxCalls: null, effects: 'read', polling: false },
} as const satisfies Readonly<Record<string, Omit<RequestedTool, 'name'>>>;
export type ModelTool = keyof typeof MODEL_TOOLS;

/** A call of a random session: the tool, and which arguments it is given. */
export type ModelCall = { readonly tool: ModelTool; readonly given: number };

/** What comes of a call, if it may run. */
export type ModelEnd = 'failed' | 'bad' | 'terminal' | 'timeout' | 'answer a' | 'answer b' | 'cut off' | 'shed';

const ENDS = {
  failed: { callEnd: 'failed', resultHash: null, executed: true },
  bad: { callEnd: 'failed', resultHash: null, executed: false },
  terminal: { callEnd: 'failed', resultHash: null, executed: true },
  timeout: { callEnd: 'other', resultHash: null, executed: true },
  'answer a': { callEnd: 'answered', resultHash: toHash('aaaaaaaaaaaaaaaa'), executed: true },
  'answer b': { callEnd: 'answered', resultHash: toHash('bbbbbbbbbbbbbbbb'), executed: true },
  'cut off': { callEnd: 'other', resultHash: null, executed: true },
  shed: { callEnd: 'not_run', resultHash: null, executed: false },
} as const satisfies Readonly<Record<ModelEnd, Omit<SettledCall, keyof RequestedCall>>>;

const CHARGED: ReadonlySet<ModelEnd> = new Set(['failed', 'bad', 'timeout']);

export const LEASE_MS = 65_000;

// Arguments that are no JSON: the call is counted against no limit, and never runs.
const UNREADABLE = 3;

const isModelTool = (name: string): name is ModelTool => name in MODEL_TOOLS;

export const toAskedTool = (name: ModelTool): RequestedTool => ({ name, ...MODEL_TOOLS[name] });

/** All of them, as a store's view of a session is compared. */
export const ALL_TOOLS: readonly RequestedTool[] = Object.keys(MODEL_TOOLS).filter(isModelTool).map(toAskedTool);

export const toRound = (
  { sessionKey, batchId }: { readonly sessionKey: string; readonly batchId: string },
  roundId: string | null,
  calls: readonly ModelCall[],
): Round => ({
  sessionKey,
  batchId,
  roundId,
  leaseMs: LEASE_MS,
  tools: [...new Set(calls.map(({ tool }) => tool))].map(toAskedTool),
  calls: calls.map(({ tool, given }) => ({
    tool,
    counts: tool !== '_unknown' && given !== UNREADABLE,
    callHash: tool === '_unknown' ? null : toHash(given.toString(16).padStart(16, '0')),
  })),
});

type Ended = { readonly call: SettledCall; readonly end: ModelEnd };

/** What comes of an admitted round where each call that may run ends as wished for its place. */
export const toReport = (admission: PlainSessionAdmission, wishes: readonly ModelEnd[], note: string): RoundReport => {
  const { round, permits, verdicts } = admission;
  const ended = round.calls.map((call, place): Ended => {
    const end = toPossible(permits.get(call.tool), verdicts[place], call, wishes[place % wishes.length] ?? 'shed');
    const looped = verdicts[place]?.kind === 'loop' && permits.get(call.tool)?.decision !== 'denied';
    return { end, call: { ...call, ...ENDS[end], ...(looped ? { callEnd: 'looped' } : {}) } };
  });
  return {
    outcomes: round.tools.map(({ name }) => toOutcome(name, ended, note)),
    calls: ended.map(({ call }) => call),
    journal: toRoundJournal(
      ended.map(({ call, end }, index) => ({
        tool: call.tool,
        json: JSON.stringify({ batch: round.batchId, index, end }),
      })),
    ),
  };
};

const toPossible = (
  permit: PlainPermit | undefined,
  verdict: CallVerdict | undefined,
  call: RequestedCall,
  wish: ModelEnd,
): ModelEnd => {
  if (permit?.decision === 'denied' || verdict?.kind !== 'run') return 'shed';
  // There is nothing to run: name or arguments are wrong, unless the service refuses the call before it looks.
  if (!call.counts) return wish === 'shed' ? 'shed' : 'bad';
  return wish;
};

const toOutcome = (name: string, ended: readonly Ended[], note: string): ToolOutcome => {
  const ends = ended.filter(({ call }) => call.tool === name).map(({ end }) => end);
  const failed = ends.some((end) => CHARGED.has(end));
  return {
    name,
    failed,
    succeeded: ends.some((end) => end.startsWith('answer')),
    interrupted: ends.includes('cut off'),
    error: failed ? note : '',
  };
};

/** What is told on admission, in one form for stores and model. */
export const toTold = (
  { permits, verdicts, step }: Pick<Admission, 'permits' | 'verdicts'> & { step: number | null },
  round: Round,
) => ({
  permits: Object.fromEntries(permits),
  verdicts: round.calls.map((_, place) => toToldVerdict(verdicts[place])),
  step,
});

const toToldVerdict = (verdict: CallVerdict | undefined): CallVerdict => {
  if (verdict === undefined) return { kind: 'run', repeats: null };
  if (verdict.kind !== 'run' || verdict.repeats === null) return verdict;
  const { failed, same, answer } = verdict.repeats;
  const streak = failed === 0 && same === 0 ? null : { failed, same, answer };
  return { kind: 'run', repeats: streak };
};

/** What is kept of a session, in one form for stores and model: a slow machine makes no difference. */
export const toKept = (record: Omit<SessionRecord, 'mode'>) => ({
  rounds: record.rounds,
  calls: record.calls,
  spent: record.spent,
  tools: Object.fromEntries(
    record.tools.filter(isKnown).map((tool) => [tool.name, { ...tool, failedAgoMs: toTens(tool.failedAgoMs) }]),
  ),
  journal: record.journal.map((line): unknown => JSON.parse(line)),
});

// A replica knows Redis's clock to some milliseconds, and steps are whole or half tens of seconds.
const JITTER_MS = 2000;
const toTens = (ms: number | null): number | null => (ms === null ? null : Math.floor((ms + JITTER_MS) / 10_000));

const isKnown = ({ failures, used, open, calls, streak }: SessionRecord['tools'][number]): boolean =>
  [failures, used, open, calls, streak.failed, streak.same].some((count) => count > 0);
