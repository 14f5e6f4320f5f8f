// biome-ignore-all lint/performance/noBarrelFile: toolkits reach what answers are made of here.

import { empty } from 'recourse-server/tools/tool-values';
import * as z from 'zod';

export { findNearestNames } from 'recourse-server/contract/nearest-names';
export { cutText } from 'recourse-server/tools/describe-value';
export { isPageToken } from 'recourse-server/tools/page-tokens';
export { toWorkMs } from 'recourse-server/tools/tool';
export { isToldValue, type ToldValue } from 'recourse-server/tools/tool-values';

/** What every answer of these tools begins with (seed 004). */
export const answerShape = {
  display: z.string().describe('What was found, in one sentence.'),
  count: z.int().min(0).describe('Number of entries in this answer.'),
};

/** The same for lists that come in pages. */
export const pageShape = {
  ...answerShape,
  page: z.int().min(1),
  has_more: z.boolean().describe('True if there are more entries: call again with page + 1.'),
};

/**
 * Whether a further page can be asked for: false for a call without a session, `until_here` where what leads to the next
 * one cannot be kept.
 */
type KeepsPages = boolean | 'until_here';

export type ListPage<Key extends string, Item, Further> = {
  /** Singular and plural: `file`, `files`. */
  readonly words: { readonly one: string; readonly many: string };
  /** The member that holds the items: `files`. */
  readonly key: Key;
  readonly items: readonly Item[];
  readonly page: number;
  readonly hasMore: boolean;
  /** Default: true. */
  readonly keepsPages?: KeepsPages;
  /** Sentences before and after what says how many there are. Default: none. */
  readonly before?: string | undefined;
  readonly after?: string | undefined;
  /** Further members of the value. */
  readonly further?: Further;
};

/** One page of a list. Nothing found is a success that costs no retry (seed 004): "No files found." */
export const answerPage = <Key extends string, Item, Further extends object>(list: ListPage<Key, Item, Further>) => {
  const { key, items, page, hasMore, before, after, further } = list;
  const display = [before, describePage(list), after].filter((sentence) => sentence !== undefined).join(' ');
  const value = { display, count: items.length, page, has_more: hasMore, ...further, [key]: items };
  // A filtered page may be empty while others follow.
  return items.length === 0 && !hasMore ? empty(display, value) : value;
};

const describePage = ({
  words,
  items,
  page,
  hasMore,
  keepsPages = true,
}: ListPage<string, unknown, object>): string => {
  const { one, many } = words;
  const count = items.length;
  const rest = hasMore ? ` ${describeMore(page, keepsPages)}` : '';
  if (count === 0 && !hasMore) return page === 1 ? `No ${many} found.` : 'No more results.';
  const where = page > 1 || hasMore ? ` on page ${page}` : '';
  if (count === 0) return `No ${many} found${where}.${rest}`;
  return `${count} ${count === 1 ? one : many} found${where}.${rest}`;
};

const describeMore = (page: number, keepsPages: KeepsPages): string => {
  if (keepsPages === 'until_here') return 'There are more, but no further page is available.';
  return keepsPages ? `More on page ${page + 1}.` : 'There are more, but further pages need a session.';
};

/** The sentence for a day that is none, `2026-13-01` or `tomorrow` (seed 004). */
export const DATE_RULE = 'Invalid date format. Use YYYY-MM-DD.';
