import { FAILURE_CODES, type FailureCode } from 'recourse-server/contract/failure';
import { isRecord } from 'recourse-server/contract/json-record';
import { parseJson } from 'recourse-server/json/parse-json';
import { textBytes } from 'recourse-server/memory/bounded-store';
import { createTextKind } from 'recourse-server/store/text-kind';
import * as z from 'zod';

// What is counted of a tenant's calls, and how the store keeps it: one record for each tenant and hour.

export const HOUR_MS = 60 * 60 * 1000;
export const toHour = (time: number): number => Math.floor(time / HOUR_MS) * HOUR_MS;
/** How many hours are kept beside the one that is not over. */
export const HOURS = 24;

// Names come from models, tools from the configuration file: beyond these the least counted are dropped.
const MOST_TOOLS = 200;
const MOST_RULES = 1000;
const [FEWEST_OF_TOOL, MOST_OF_TOOL] = [5, 30] as const;
const MOST_NAMES = 200;
// How many processes are told apart in an hour. One that starts later than so many others may count a repeated write twice.
const MOST_WRITERS = 64;

export type ToolCounts = {
  calls: number;
  failures: number;
  recovered: number;
  recoveredRounds: number;
  gaveUp: number;
  readonly codes: Map<FailureCode, number>;
  /** By path and rule, in two lines. */
  readonly rules: Map<string, number>;
};

export type ReportCounts = {
  readonly tools: Map<string, ToolCounts>;
  /** Names that were asked for and that no tool has. */
  readonly names: Map<string, number>;
};

export const createCounts = (): ReportCounts => ({ tools: new Map(), names: new Map() });

/** Those of a tool, created where there are none. */
export const toolCountsOf = ({ tools }: ReportCounts, tool: string): ToolCounts => {
  const found = tools.get(tool);
  if (found !== undefined) return found;
  const created: ToolCounts = {
    ...{ calls: 0, failures: 0, recovered: 0, recoveredRounds: 0, gaveUp: 0 },
    ...{ codes: new Map(), rules: new Map() },
  };
  tools.set(tool, created);
  return created;
};

export const count = <Key>(counts: Map<Key, number>, key: Key, by = 1): void =>
  void counts.set(key, (counts.get(key) ?? 0) + by);

/** Adds what others have counted, then drops the least counted beyond what a record keeps. */
export const addCounts = (counts: ReportCounts, other: ReportCounts): void => {
  for (const [name, calls] of other.names) count(counts.names, name, calls);
  for (const [tool, added] of other.tools) addToolCounts(toolCountsOf(counts, tool), added);
  keepMost(counts.names, MOST_NAMES, (calls) => calls);
  keepMost(counts.tools, MOST_TOOLS, ({ calls }) => calls);
  const ofTool = Math.floor(MOST_RULES / Math.max(1, counts.tools.size));
  const mostRules = Math.max(FEWEST_OF_TOOL, Math.min(MOST_OF_TOOL, ofTool));
  for (const { rules } of counts.tools.values()) keepMost(rules, mostRules, (failures) => failures);
};

const addToolCounts = (counts: ToolCounts, added: ToolCounts): void => {
  for (const member of ['calls', 'failures', 'recovered', 'recoveredRounds', 'gaveUp'] as const)
    counts[member] += added[member];
  for (const [code, failures] of added.codes) count(counts.codes, code, failures);
  for (const [rule, failures] of added.rules) count(counts.rules, rule, failures);
};

const keepMost = <Value>(entries: Map<string, Value>, most: number, weigh: (value: Value) => number): void => {
  if (entries.size <= most) return;
  const ranked = [...entries].toSorted(([, one], [, other]) => weigh(other) - weigh(one));
  for (const [key] of ranked.slice(most)) entries.delete(key);
};

/** An hour of a tenant. `writers`: the last write of each process that is in it. */
export type ReportHour = { counts: ReportCounts; writers: Map<string, number> };

const Count = z.int().nonnegative();
const Stored = z.object({
  writers: z.array(z.tuple([z.string(), Count])),
  names: z.array(z.tuple([z.string(), Count])),
  tools: z.array(
    z.object({
      tool: z.string(),
      /** Calls, failures, sessions that recovered, their rounds, sessions that gave up. */
      counts: z.tuple([Count, Count, Count, Count, Count]),
      codes: z.array(z.tuple([z.enum(FAILURE_CODES), Count])),
      rules: z.array(z.tuple([z.string(), Count])),
    }),
  ),
});

const encode = ({ counts, writers }: ReportHour): string =>
  JSON.stringify({
    writers: [...writers].slice(-MOST_WRITERS),
    names: [...counts.names],
    tools: [...counts.tools].map(([tool, { calls, failures, recovered, recoveredRounds, gaveUp, codes, rules }]) => ({
      tool,
      counts: [calls, failures, recovered, recoveredRounds, gaveUp],
      codes: [...codes],
      rules: [...rules],
    })),
  } satisfies z.input<typeof Stored>);

/** One that is damaged, or of a version that keeps something else, counts as none. */
const decode = (text: string | undefined): ReportHour => {
  const parsed = text === undefined ? null : parseJson(text);
  const stored = parsed?.ok === true && isRecord(parsed.value) ? Stored.safeParse(parsed.value).data : undefined;
  if (stored === undefined) return { counts: createCounts(), writers: new Map() };
  const tools = stored.tools.map(({ tool, counts, codes, rules }): [string, ToolCounts] => {
    const [calls, failures, recovered, recoveredRounds, gaveUp] = counts;
    const maps = { codes: new Map(codes), rules: new Map(rules) };
    return [tool, { calls, failures, recovered, recoveredRounds, gaveUp, ...maps }];
  });
  return { counts: { tools: new Map(tools), names: new Map(stored.names) }, writers: new Map(stored.writers) };
};

/** What an hour takes in a store, in bytes. */
export const toStoredBytes = (hour: ReportHour): number => textBytes(encode(hour));

export const reportKind = createTextKind<ReportHour>({
  name: 'report',
  operation: 'page',
  own: /^r$/,
  // What is lost of it is a number in a report.
  memory: { records: 'journals', lists: null },
  ttlMs: (HOURS + 1) * HOUR_MS,
  create: () => decode(undefined),
  decode: (fields) => decode(fields.get('r')),
  toTexts: (hour) => new Map([['r', encode(hour)]]),
  isEmpty: ({ writers }) => writers.size === 0,
  bytes: toStoredBytes,
});

/** Names the record of an hour. The names of tenants have no colon. */
export const hourKeyOf = (tenant: string, time: number): string => `${tenant}:${Math.floor(time / HOUR_MS)}`;

/** Adds a write to the hour, once: a process repeats a write of which it does not know whether it was kept. */
export const addWrite = (
  hour: ReportHour,
  { writer, number, counts }: { readonly writer: string; readonly number: number; readonly counts: ReportCounts },
): void => {
  if (hasWrite(hour, writer, number)) return;
  addCounts(hour.counts, counts);
  hour.writers.delete(writer);
  hour.writers.set(writer, number);
};

export const hasWrite = ({ writers }: ReportHour, writer: string, number: number): boolean =>
  (writers.get(writer) ?? 0) >= number;
