import { hash } from 'node:crypto';
import { isPageToken, type PageTokens } from 'recourse-server/tools/page-tokens';
import type { ToolContext } from 'recourse-server/tools/tool';
import { RetryableToolError } from 'recourse-server/tools/tool-errors';
import { answerPage, type ListPage } from '../page-answers.ts';

/** One list whose upstream gives a token for the next page with each page. */
type ChainedList<Key extends string, Item> = Pick<ListPage<Key, Item, object>, 'words' | 'key' | 'page'> & {
  readonly tokens: PageTokens;
  readonly tool: string;
  /** How the model begins again. */
  readonly verb: 'Search' | 'List';
  /** All arguments but the page: with the session and the tool they name the list. */
  readonly query: Readonly<Record<string, unknown>>;
  readonly context: Pick<ToolContext, 'session'>;
  /** Reads the page to which this token leads; undefined for the first. */
  readonly read: (token: string | undefined) => Promise<{
    readonly items: readonly Item[];
    /** What leads to the next page; the last one has none. */
    readonly nextToken: string | null | undefined;
  }>;
};

const WITHOUT_SESSION = { Search: 'narrow the search', List: 'only page 1 can be listed' } as const;

/**
 * One page of such a list, as this session has read it so far. The token that came with it is stored for the next page.
 * Rejects with a RetryableToolError where no page led to this one: "Page 5 not available. Search from page 1 first." (seed 004).
 */
export const answerChainedPage = async <Key extends string, Item>(list: ChainedList<Key, Item>) => {
  const { tokens, tool, query, context, words, key, page, read } = list;
  const { session } = context;
  const chain = session === null ? null : { session, tool, query: hashQuery(query) };
  const token = page === 1 ? undefined : await findToken(list, chain);
  const { items, nextToken } = await read(token);
  const next = nextToken === undefined || nextToken === '' ? null : nextToken;
  if (chain !== null && next !== null) await tokens.keep(chain, page + 1, next);
  const keepsPages = next === null || isPageToken(next) ? true : 'until_here';
  return answerPage({
    words,
    key,
    items,
    page,
    hasMore: next !== null,
    keepsPages: chain === null ? false : keepsPages,
  });
};

const findToken = async (
  { tokens, verb, page }: Pick<ChainedList<string, unknown>, 'tokens' | 'verb' | 'page'>,
  chain: Parameters<PageTokens['find']>[0] | null,
): Promise<string> => {
  if (chain === null)
    throw new RetryableToolError(
      `Page ${page} not available. Pages need a session, and this call has none: ${WITHOUT_SESSION[verb]}.`,
    );
  const token = await tokens.find(chain, page);
  if (token !== null) return token;
  throw new RetryableToolError(`Page ${page} not available. ${verb} from page 1 first.`, {
    hint: 'Read the pages in order, and send the same arguments with each.',
  });
};

/** Equal for arguments that differ in the order of their members only; those that are undefined do not count. */
const hashQuery = (query: unknown): string => hash('sha256', JSON.stringify(query, sortMembers));

const sortMembers = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value;
