import * as z from 'zod';
import { JournalEntry, LateResult } from '../../contract/session.ts';
import { parseJson } from '../../json/parse-json.ts';

/** Which call of a session a late result belongs to. */
export type LateOf = { readonly requestId: string; readonly index: number };

const LateLine = z.object({
  late_of: z.object({ request_id: z.string(), index: z.int().nonnegative() }),
  late: LateResult,
});

/** The line of a journal that says what came of a call after its answer: a JSON object's text. */
export const toLateLine = ({ requestId, index }: LateOf, late: LateResult): string =>
  JSON.stringify({ late_of: { request_id: requestId, index }, late } satisfies z.infer<typeof LateLine>);

/**
 * The calls that a journal's lines tell of, oldest first, late results put to their calls. Lines that are neither are
 * skipped, for another version may have written them; so is a late result whose call has left the journal.
 */
export const toJournalEntries = (lines: readonly string[]): readonly JournalEntry[] => {
  const parsed = lines.map(toValue);
  const lates = lateResultsOf(parsed);
  // From the end: where a caller used a request id twice, what is late belongs to the later call.
  const entries = parsed.toReversed().flatMap((value) => {
    const found = JournalEntry.safeParse(value);
    if (!found.success) return [];
    const { late: _none, ...entry } = found.data;
    // What succeeded was answered by its handler, so nothing of it can be late.
    const late = entry.success ? undefined : lates.get(toKey(entry.request_id, entry.index))?.pop();
    return [late === undefined ? entry : { ...entry, late }];
  });
  return entries.toReversed();
};

const toValue = (line: string): unknown => {
  const parsed = parseJson(line);
  return parsed.ok ? parsed.value : null;
};

// By call, oldest first. A late result may stand before its call: settling may have been slower.
const lateResultsOf = (values: readonly unknown[]): ReadonlyMap<string, LateResult[]> => {
  const lates = new Map<string, LateResult[]>();
  for (const value of values) {
    const line = LateLine.safeParse(value);
    if (!line.success) continue;
    const { late_of, late } = line.data;
    const key = toKey(late_of.request_id, late_of.index);
    const known = lates.get(key);
    if (known === undefined) lates.set(key, [late]);
    else known.push(late);
  }
  return lates;
};

const toKey = (requestId: string, index: number): string => `${index} ${requestId}`;
