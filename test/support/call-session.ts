import { createHash, randomUUID } from 'node:crypto';
import type {
  Admission,
  Budget,
  CallEnd,
  CallVerdict,
  JournalLine,
  RequestedTool,
  Round,
  RoundForecast,
  SessionRecord,
  ToolOutcome,
} from '#src/executor/session-store.ts';
import { type Decision, toDecision } from './budget-session.ts';
import { toHash, toRoundJournal } from './marks.ts';
import type { StoreUnderTest } from './session-stores-under-test.ts';

/** A call as a test writes it: `tool arguments`, for example `test a`; `-` as arguments = none to look at. */
export type CallText = string;

/** What a call comes to if it runs; `=x` answers x, `over` is refused elsewhere (a full queue, say). */
export type End = 'fails' | 'times out' | 'over' | `=${string}`;

export type PlayedRound = {
  readonly admission: Admission;
  /** `run`, `run, failed 1`, `run, same 2`, `loop: failed, 3`, `limit: tool_calls, 5`. */
  readonly verdicts: readonly string[];
  readonly decisions: readonly Decision[];
};
export type OpenCalls = PlayedRound & {
  readonly end: (ends: readonly End[], journal?: readonly JournalLine[]) => Promise<ReadonlyMap<string, Budget>>;
};

/** A session of a store as an agent uses it: rounds of calls. */
export type CallSession = {
  readonly key: string;
  readonly begin: (calls: readonly CallText[], round?: string) => Promise<OpenCalls>;
  /** What would be said of the round, which does not begin. */
  readonly forecast: (calls: readonly CallText[], round?: string) => Promise<RoundForecast>;
  /** A whole round, one call and its end after the other: `{ 'test a': 'fails' }`. A refused call does not run. */
  readonly play: (
    calls: Readonly<Record<CallText, End>>,
    round?: string,
  ) => Promise<PlayedRound & { readonly budgets: ReadonlyMap<string, Budget> }>;
  readonly read: () => Promise<SessionRecord>;
};

// The Redis may be one that others use, too.
const run = randomUUID();
let sessions = 0;
let batches = 0;

const LEASE_MS = 60_000;

/** 16 hex digits that stand for a text. */
export const toDigest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

const toVerdictText = (verdict: CallVerdict | undefined): string => {
  if (verdict === undefined) return 'run';
  if (verdict.kind === 'loop') return `loop: ${verdict.cause}, ${verdict.times}`;
  if (verdict.kind === 'limit') return `limit: ${verdict.of}, ${verdict.limit}`;
  if (verdict.repeats === null) return 'run';
  const { failed, same } = verdict.repeats;
  return failed > 0 ? `run, failed ${failed}` : `run, same ${same}`;
};

const toCall = (text: CallText) => {
  const [tool = '', args = '-'] = text.split(' ');
  return { tool, counts: args !== '{', callHash: args === '-' ? null : toHash(toDigest(`${tool}\n${args}`)) };
};

const toEnding = (end: End | undefined, verdict: string, isLetIn: boolean): CallEnd => {
  if (verdict.startsWith('loop')) return 'looped';
  if (!isLetIn || !verdict.startsWith('run') || end === undefined || end === 'over') return 'not_run';
  if (end === 'fails') return 'failed';
  return end === 'times out' ? 'other' : 'answered';
};

const isLetIn = (admission: Admission, tool: string): boolean =>
  ['free', 'retry'].includes(admission.permits.get(tool)?.decision ?? '');

const toReport = (admission: Admission, calls: readonly ReturnType<typeof toCall>[], ends: readonly End[]) => {
  const settled = calls.map((call, position) => {
    const verdict = toVerdictText(admission.verdicts[position]);
    const callEnd = toEnding(ends[position], verdict, isLetIn(admission, call.tool));
    const resultHash = callEnd === 'answered' ? toHash(toDigest(ends[position] ?? '')) : null;
    return { ...call, callEnd, resultHash, executed: !['looped', 'not_run'].includes(callEnd) };
  });
  const outcomes = [...new Set(calls.map(({ tool }) => tool))].map((name): ToolOutcome => {
    const endings = settled.filter(({ tool }) => tool === name).map(({ callEnd }) => callEnd);
    const failed = endings.includes('failed') || endings.includes('other');
    return { name, failed, succeeded: endings.includes('answered'), interrupted: false, error: failed ? 'failed' : '' };
  });
  return { outcomes, calls: settled };
};

const toFreshKey = (): string => {
  sessions += 1;
  return `tenant:${run}calls${sessions}`;
};

/** A new session, or that of a key. Tools are `read`, have 50 retries and no limit unless told otherwise. */
export const createCallSession = (
  { store }: Pick<StoreUnderTest, 'store'>,
  tools: Readonly<Record<string, Partial<RequestedTool>>> = {},
  key = toFreshKey(),
): CallSession => {
  const toTool = (name: string): RequestedTool => ({
    name,
    retries: 50,
    maxCalls: null,
    effects: 'read',
    polling: false,
    ...tools[name],
  });
  const toRound = (calls: readonly ReturnType<typeof toCall>[], round: string | undefined): Round => {
    batches += 1;
    return {
      sessionKey: key,
      batchId: `batch_${run}_${batches}`,
      roundId: round ?? null,
      leaseMs: LEASE_MS,
      tools: [...new Set(calls.map(({ tool }) => tool))].map(toTool),
      calls,
    };
  };
  const begin = async (texts: readonly CallText[], round?: string): Promise<OpenCalls> => {
    const calls = texts.map(toCall);
    const names = [...new Set(calls.map(({ tool }) => tool))];
    const admission = await store.admit(toRound(calls, round));
    return {
      admission,
      verdicts: calls.map((_call, position) => toVerdictText(admission.verdicts[position])),
      decisions: names.map((name) => toDecision(admission.permits.get(name))),
      end: async (ends, lines = []) =>
        admission.settle({ ...toReport(admission, calls, ends), journal: toRoundJournal(lines) }),
    };
  };
  return {
    key,
    begin,
    forecast: (texts, round) => store.forecast(toRound(texts.map(toCall), round)),
    play: async (calls, round) => {
      const { end, ...played } = await begin(Object.keys(calls), round);
      return { ...played, budgets: await end(Object.values(calls)) };
    },
    read: () => store.read(key),
  };
};

/** What the guard says of a call in a round of its own, over and over. */
export const repeat = async (
  session: CallSession,
  call: CallText,
  end: End,
  times: number,
): Promise<readonly string[]> => {
  const verdicts: string[] = [];
  for (let round = 0; round < times; round += 1) verdicts.push(...(await session.play({ [call]: end })).verdicts);
  return verdicts;
};
