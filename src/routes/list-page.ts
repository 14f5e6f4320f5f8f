import * as z from 'zod';

/** Where an item stands in a list that has the newest first. */
export type Place = { readonly at: number; readonly id: string };

export const newestFirst = (one: Place, other: Place): number => {
  if (one.at !== other.at) return other.at - one.at;
  return one.id === other.id ? 0 : one.id < other.id ? 1 : -1;
};

// Of what stays where it is while newer items come in: a place, not a number of items.
const PLACE = /^(\d{1,15}):([\x21-\x7e]{1,200})$/;

export const toCursor = ({ at, id }: Place): string => Buffer.from(`${at}:${id}`).toString('base64url');

const Cursor = z
  .string()
  .max(400)
  .transform((cursor, { issues }): Place => {
    const [, at, id] = PLACE.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
    if (at !== undefined && id !== undefined) return { at: Number(at), id };
    issues.push({ code: 'custom', message: 'is not one of this list', input: cursor });
    return z.NEVER;
  });

/** What every list of pages asks for. */
export const PAGING = {
  cursor: Cursor.optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
};

export const ToolName = z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, 'must be the name of a tool');

/** The items after a cursor; all without one. `sorted`: newest first. */
export const skipTo = <Item extends Place>(sorted: readonly Item[], cursor: Place | undefined): readonly Item[] =>
  cursor === undefined ? sorted : sorted.filter((item) => newestFirst(cursor, item) < 0);

/** A page of them, and the cursor of the next one. */
export const toPage = <Item extends Place>(
  sorted: readonly Item[],
  { cursor, limit }: { readonly cursor?: Place | undefined; readonly limit: number },
): { readonly items: readonly Item[]; readonly next_cursor: string | null } => {
  const rest = skipTo(sorted, cursor);
  const items = rest.slice(0, limit);
  const last = items.at(-1);
  return { items, next_cursor: last === undefined || rest.length <= limit ? null : toCursor(last) };
};
