import * as z from 'zod';
import { JournalEntry, LateResult } from '../contract/session.ts';
import { parseJson } from '../json/parse-json.ts';

/** As many characters as a request id may have. */
export const MAX_REQUEST_ID = 64;

const LateLine = z.object({
  late_of: z.object({ request_id: z.string(), index: z.int().nonnegative() }),
  late: LateResult,
});

/** The line of a journal that says what came of a call after its answer: a JSON object's text. */
export const toLateLine = (
  { requestId, index }: { readonly requestId: string; readonly index: number },
  late: LateResult,
): string => JSON.stringify({ late_of: { request_id: requestId, index }, late } satisfies z.infer<typeof LateLine>);

/**
 * The calls that a journal's lines tell of, oldest first, late results put to their calls. Lines that are neither are
 * skipped, for another version may have written them; so is a late result whose call has left the journal.
 */
export const toJournalEntries = (lines: readonly string[]): readonly JournalEntry[] => {
  const values = lines.map((line) => {
    const parsed = parseJson(line);
    return parsed.ok ? parsed.value : null;
  });
  const lateLines = values.flatMap((value) => LateLine.safeParse(value).data ?? []);
  // By call, oldest first. A late result may stand before its call: settling may have been slower.
  const lates = Map.groupBy(lateLines, ({ late_of }) => toKey(late_of.request_id, late_of.index));
  // From the end: where a caller used a request id twice, what is late belongs to the later call.
  const entries = values.toReversed().flatMap((value) => {
    const found = JournalEntry.safeParse(value);
    if (!found.success) return [];
    const { late: _none, ...entry } = found.data;
    // What succeeded was answered by its handler, so nothing of it can be late.
    const late = entry.success ? undefined : lates.get(toKey(entry.request_id, entry.index))?.pop()?.late;
    return [late === undefined ? entry : { ...entry, late }];
  });
  return entries.toReversed();
};

const toKey = (requestId: string, index: number): string => `${index} ${requestId}`;
