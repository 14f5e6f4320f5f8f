import * as z from 'zod';
import { parseJson } from '../../json/parse-json.ts';

/** A call that went well and of which nothing is to be hidden; `tool` is null where it was asked for by that name. */
const PackedCall = z.tuple([
  z.int().nonnegative(),
  z.union([z.string(), z.number()]).nullable(),
  z.string(),
  z.string().nullable(),
  z.unknown(),
  z.number(),
]);
/** Its index, id, name, tool, arguments as they were given, and how many milliseconds it took. */
export type PackedCall = z.infer<typeof PackedCall>;

const PackedRound = z.tuple([z.int().nonnegative(), z.number(), z.string(), z.array(PackedCall)]);
/** The round's step, its time in Unix milliseconds, its request id, and its calls. */
export type PackedRound = z.infer<typeof PackedRound>;

/** The text that a shared store keeps of a round; one line. Its arguments are those that were read, so they are not nested too deep. */
export const packRound = (round: PackedRound): string => JSON.stringify(round);

/** The round that a text tells of; null where it is none, for another version may have written it. */
export const readPackedRound = (text: string): PackedRound | null => {
  const parsed = parseJson(text);
  const read = parsed.ok ? PackedRound.safeParse(parsed.value) : null;
  return read?.success === true ? read.data : null;
};
