import * as z from 'zod';
import type { JournalLine } from '../executor/journal/round-lines.ts';
import type {
  AnswerMark,
  AskedTool,
  Budget,
  CallEnding,
  CallVerdict,
  Permit,
  Round,
  RoundReport,
  SessionRecord,
  SessionSettings,
  SettledCall,
  ToolOutcome,
} from '../executor/session-store.ts';
import { toMaxLines } from './journal-lines.ts';
import { MAX_FINGERPRINTS } from './rules/loop-guard.ts';
import { type AdmittedTool, isLetIn, toErrorLine } from './rules/retry-budgets.ts';
import type { Settlement } from './rules/rounds.ts';
import { toSortedRecords } from './rules/session-state.ts';

// What the scripts of sessions are told, and what they answer. The scripts say in which order.

const HIGH = 2 ** 32;

/** The prints of a round as one text of hexadecimal digits: an argument of a command for each costs more than all the rest. */
class HexText {
  #bytes = Buffer.alloc(4096);
  #length = 0;

  /** Forgets what was added and not taken: whoever added it has failed. */
  begin(): void {
    this.#length = 0;
  }

  add(value: number, size: 1 | 2 | 3 | 4): void {
    if (this.#length + size > this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes], 2 * this.#bytes.length);
    this.#bytes.writeUIntBE(value, this.#length, size);
    this.#length += size;
  }

  /** 53 bits as 14 digits. */
  addPrint(print: number): void {
    this.add(Math.floor(print / HIGH), 3);
    this.add(print >>> 0, 4);
  }

  take(): string {
    return this.#bytes.toString('hex', 0, this.#length);
  }
}

// One for all: a text is begun and taken without a wait between.
const hexText = new HexText();

const toPrintText = (print: number): string => {
  hexText.begin();
  hexText.addPrint(print);
  return hexText.take();
};

/** Where each of a round's tools stands, from 1; 0 for what is none of them. */
const toPosition = ({ tools }: Pick<Round, 'tools'>): ((name: string) => number) => {
  const [only] = tools;
  if (only === undefined || tools.length > 1) {
    const positions = new Map(tools.map(({ name }, at) => [name, at + 1]));
    return (name) => positions.get(name) ?? 0;
  }
  return (name) => (name === only.name ? 1 : 0);
};

// The flags of a call, as clean-admit.lua names them.
const COUNTS = 1;
const HAS_PRINT = 2;

/** What admit.lua is told of a round; clean-admit.lua says in which order. */
export const toAdmitWords = (round: Round, settings: SessionSettings): readonly string[] => {
  const { sessionRetries, cooldownMs, ttlMs, maxCalls, maxRounds } = settings;
  const tools = round.tools.map(({ name, retries, maxCalls: most, effects, polling }) => [
    name.toWellFormed(),
    retries,
    most ?? '',
    effects === 'read' || polling ? 0 : 1,
  ]);
  let counted = 0;
  const position = toPosition(round);
  hexText.begin();
  for (const { tool, mark, counts } of round.calls) {
    if (counts) counted += 1;
    hexText.add(position(tool), 2);
    hexText.add((counts ? COUNTS : 0) + (mark === null ? 0 : HAS_PRINT), 1);
    hexText.addPrint(mark === null ? 0 : mark.print);
  }
  const numbers = `${Math.ceil(round.leaseMs)} ${ttlMs} ${sessionRetries} ${cooldownMs} ${maxCalls} ${maxRounds} ${counted}`;
  return [round.batchId, round.roundId ?? '', numbers, JSON.stringify(tools), hexText.take()];
};

/**
 * What clean-settle.lua is told of a round that ended cleanly. `element` is what the journal is to keep. Null where there is
 * nothing to tell.
 */
export const toCleanWords = (
  round: Round,
  { calls }: RoundReport,
  { born, element }: { readonly born: string; readonly element: string },
  settings: SessionSettings,
): readonly string[] | null => {
  const tools = round.tools.map(({ name, retries, effects }) => [
    name.toWellFormed(),
    retries,
    effects !== 'read' && calls.some(({ tool }) => tool === name) ? 1 : 0,
  ]);
  const endings = toCleanEndings(round, calls);
  if (endings === '' && element === '' && tools.every(([, , changes]) => changes === 0)) return null;
  const numbers = `${settings.ttlMs} ${settings.sessionRetries} ${toMaxLines(settings)}`;
  return ['clean', born, numbers, JSON.stringify(tools), endings, element];
};

// Each tool's first sixteen prints, each once: its last answer counts.
const toCleanEndings = (round: Round, calls: readonly SettledCall[]): string => {
  hexText.begin();
  for (const [at, { name }] of round.tools.entries())
    for (const [print, answer] of toAnswers(name, calls)) {
      hexText.add(at + 1, 2);
      hexText.addPrint(print);
      hexText.addPrint(answer.print);
    }
  return hexText.take();
};

const toAnswers = (name: string, calls: readonly SettledCall[]): ReadonlyMap<number, AnswerMark> => {
  const answers = new Map<number, AnswerMark>();
  for (const { tool, mark, answer } of calls) {
    if (mark === null || answer === null || tool !== name) continue;
    if (answers.size < MAX_FINGERPRINTS || answers.has(mark.print)) answers.set(mark.print, answer);
  }
  return answers;
};

/** A packed round as the journal keeps it: how many lines it has, and what each tool has left after it. */
export const toElement = (
  lines: number,
  packed: string,
  tools: readonly AskedTool[],
  sessionRetries: number,
): string => {
  const left = tools.flatMap(({ name, retries }) => [name.toWellFormed(), Math.min(retries, sessionRetries)]);
  return `${JSON.stringify([lines, ...left])}\n${packed}`;
};

const ENDING = { not_run: 'n', other: 'o', looped: 'l', failed: 'f', answered: 'a' } as const satisfies Record<
  CallEnding,
  string
>;

/** What settle.lua is told of a round that was admitted so; it says in which order. */
export const toSettleWords = (
  round: Round,
  admitted: { readonly born: string; readonly guardStep: number; readonly tools: ReadonlyMap<string, AdmittedTool> },
  settlement: Omit<Settlement, 'journal'> & {
    readonly journal: readonly JournalLine[];
    readonly lines: 'kept' | 'refused';
  },
  settings: SessionSettings,
): readonly string[] => {
  const { endings, unused, journal } = settlement;
  const position = toPosition(round);
  const endingWords = [...endings].flatMap(([tool, ofTool]) =>
    [...ofTool].map(([print, { ending, answer }]) => [
      String(position(tool)),
      toPrintText(print),
      ENDING[ending],
      typeof answer === 'number' ? toPrintText(answer) : '',
    ]),
  );
  const { ttlMs, sessionRetries } = settings;
  const numbers = [ttlMs, sessionRetries, toMaxLines(settings), admitted.guardStep, unused.total];
  const words = [
    admitted.born,
    ...[...numbers, round.tools.length, endingWords.length].map(String),
    settlement.lines === 'refused' ? '1' : '',
    ...round.tools.flatMap(({ name, retries }) => [
      name,
      String(retries),
      ...toHoldWords(admitted.tools.get(name)),
      ...toOutcomeWords(settlement.outcomes.find((outcome) => outcome.name === name)),
      String(unused.ofTool.get(name) ?? 0),
      settlement.changers.has(name) ? '1' : '',
    ]),
    ...endingWords.flat(),
    ...journal.map(({ tool }) => String(tool === null ? 0 : position(tool))),
  ];
  // Half of a character is written as U+FFFD, as Redis would get it by itself.
  return ['any', JSON.stringify(words.map((word) => word.toWellFormed())), ...journal.map(({ json }) => json)];
};

const toHoldWords = (tool: AdmittedTool | undefined): readonly string[] => {
  if (tool === undefined || !isLetIn(tool)) return ['none', '', '0'];
  const decision = tool.late === true && tool.permit.decision === 'retry' ? 'late' : tool.permit.decision;
  return [decision, tool.claimId ?? '', String(tool.epoch)];
};

// Of a tool without an outcome nothing is to be settled: as if it had been cut off.
const toOutcomeWords = (outcome: ToolOutcome | undefined): readonly string[] =>
  outcome === undefined ? ['interrupted', ''] : [toOutcomeWord(outcome), toErrorLine(outcome.error)];

const toOutcomeWord = ({ failed, succeeded, interrupted }: ToolOutcome): string => {
  if (failed) return succeeded ? 'mixed' : 'failed';
  if (succeeded) return 'succeeded';
  return interrupted ? 'interrupted' : 'neither';
};

const Count = z.int().nonnegative();

// As `report` of retry-budgets.lua tells of a tool.
const Report = z.tuple([
  z.enum(['free', 'retry', 'idle', 'tool', 'session', 'running', '']),
  z.string(),
  Count,
  Count,
  Count,
  Count,
  z.enum(['tool', 'session']),
  z.string(),
]);
type Report = z.infer<typeof Report>;

const Verdict = z.union([
  z.tuple([z.literal('run')]),
  z.tuple([z.literal('run'), Count, Count, z.string()]),
  z.tuple([z.literal('loop'), z.enum(['failed', 'same_answer']), Count]),
  z.tuple([z.literal('limit'), z.enum(['session_calls', 'session_rounds', 'tool_calls']), Count]),
]);

const AdmitAnswer = z.tuple([z.string(), Count, z.array(Report), z.array(Verdict)]);

/** What admit.lua answers. `tools` is null where the round is clean: every tool is free, and no call has a streak. */
export type AdmittedAnswer = {
  readonly born: string;
  readonly step: number;
  readonly tools: ReadonlyMap<string, AdmittedTool> | null;
  readonly verdicts: readonly CallVerdict[];
};

export const readAdmitAnswer = (answer: unknown, round: Round): AdmittedAnswer => {
  // Without a schema, for nearly every answer is of this kind: what clean-admit.lua says.
  if (Array.isArray(answer) && answer.length === 2) {
    const [clean, rounds]: readonly unknown[] = answer;
    if (typeof clean === 'string' && typeof rounds === 'number')
      return { born: clean, step: rounds, tools: null, verdicts: NO_VERDICTS };
  }
  const [born, step, reports, verdicts] = AdmitAnswer.parse(answer);
  return { born, step, tools: readReports(round, reports, toAdmittedTool), verdicts: verdicts.map(toVerdict) };
};

const NO_VERDICTS: readonly CallVerdict[] = [];

/** The budgets that settle.lua answers. */
export const readSettleAnswer = (answer: unknown, round: Round): ReadonlyMap<string, Budget> =>
  readReports(round, z.array(Report).parse(answer), toBudget);

/** What the reports say of a round's tools, in their order, by name. */
const readReports = <Value>(
  { tools }: Round,
  reports: readonly Report[],
  read: (report: Report, retries: number) => Value,
): ReadonlyMap<string, Value> =>
  new Map(
    tools.flatMap(({ name, retries }, position) => {
      const report = reports[position];
      return report === undefined ? [] : [[name, read(report, retries)] as const];
    }),
  );

const toBudget = (report: Report, limit: number): Budget => {
  const [, , , failures, used, remaining, limitedBy, lastError] = report;
  return { failures, limit, used, remaining, limitedBy, lastError };
};

const toAdmittedTool = (report: Report, limit: number): AdmittedTool => {
  const [decision, claimId, epoch] = report;
  const permit = toPermit(decision, toBudget(report, limit));
  return { permit, claimId: claimId === '' ? null : claimId, epoch };
};

const toPermit = (decision: Report[0], budget: Budget): Permit => {
  if (decision === 'free' || decision === 'retry' || decision === 'idle') return { decision, budget };
  return { decision: 'denied', denial: decision === '' ? 'tool' : decision, budget };
};

const toVerdict = (verdict: z.infer<typeof Verdict>): CallVerdict => {
  if (verdict[0] === 'loop') return { kind: 'loop', cause: verdict[1], times: verdict[2] };
  if (verdict[0] === 'limit') return { kind: 'limit', of: verdict[1], limit: verdict[2] };
  if (verdict.length === 1) return { kind: 'run', streak: null };
  const [, failed, same, answer] = verdict;
  return { kind: 'run', streak: { failed, same, answer: answer === '' ? '' : Number.parseInt(answer, 16) } };
};

const ToolAnswer = z.tuple([z.string(), Count, Count, Count, Count, z.string(), Count, Count, Count]);
const ReadAnswer = z.tuple([Count, Count, Count, z.array(ToolAnswer), z.string(), z.literal([0, 1])]);

/** The session that read.lua answers, without its journal; `born` is "" where it was never seen. */
export const readReadAnswer = (
  answer: unknown,
): { readonly born: string; readonly record: Omit<SessionRecord, 'journal'> } => {
  const [rounds, calls, spent, tools, born, dropped] = ReadAnswer.parse(answer);
  const truncated = dropped === 1 ? ({ truncated: true } as const) : {};
  const toolRecords = toSortedRecords(tools.map(toToolRecord));
  return { born, record: { mode: 'redis', rounds, calls, spent, tools: toolRecords, ...truncated } };
};

const toToolRecord = (tool: z.infer<typeof ToolAnswer>): SessionRecord['tools'][number] => {
  const [name, failures, used, open, failedAgoMs, lastError, calls, failed, same] = tool;
  const lastFailure = failures > 0 ? { failedAgoMs, lastError } : { failedAgoMs: null, lastError: '' };
  return { name, failures, used, open, ...lastFailure, calls, streak: { failed, same } };
};
