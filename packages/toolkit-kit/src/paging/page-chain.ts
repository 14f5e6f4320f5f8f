import { hash } from 'node:crypto';
import { isPageToken, type PageTokens } from 'recourse-server/tools/page-tokens';
import type { ToolContext } from 'recourse-server/tools/tool';
import { RetryableToolError } from 'recourse-server/tools/tool-errors';
import type { KeepsPages } from '../page-answers.ts';

/** One list whose upstream gives a token for the next page with each page. */
export type PageChain = {
  /** Whether further pages can be read, as it is known once `keepNext` has ended. */
  readonly keepsPages: KeepsPages;
  /**
   * The token for this page: undefined for the first. Rejects with a RetryableToolError where no page led to it:
   * "Page 5 not available. Search from page 1 first." (seed 004).
   */
  readonly tokenOf: (page: number) => Promise<string | undefined>;
  /** Keeps the token that came with a page, and gives whether `has_more` is true: there is one, whether it can be kept or not. */
  readonly keepNext: (page: number, nextToken: string | null | undefined) => Promise<boolean>;
};

export type PageChainOptions = {
  readonly tokens: PageTokens;
  readonly tool: string;
  /** `Search`, or `List`: how the model begins again. */
  readonly verb: 'Search' | 'List';
  /** All arguments but the page. */
  readonly query: Readonly<Record<string, unknown>>;
  readonly context: Pick<ToolContext, 'session'>;
};

const WITHOUT_SESSION = { Search: 'narrow the search', List: 'only page 1 can be listed' } as const;

/** The pages of the list that these arguments name, as this session has read them so far. */
export const openPageChain = ({ tokens, tool, verb, query, context }: PageChainOptions): PageChain => {
  const { session } = context;
  const list = session === null ? null : { session, tool, query: toDigest(query) };
  let keepsPages: KeepsPages = list !== null;
  return {
    get keepsPages() {
      return keepsPages;
    },
    tokenOf: async (page) => {
      if (page === 1) return undefined;
      if (list === null)
        throw new RetryableToolError(
          `Page ${page} not available. Pages need a session, and this call has none: ${WITHOUT_SESSION[verb]}.`,
        );
      const token = await tokens.find(list, page);
      if (token === null)
        throw new RetryableToolError(`Page ${page} not available. ${verb} from page 1 first.`, {
          hint: 'Read the pages in order, and send the same arguments with each.',
        });
      return token;
    },
    keepNext: async (page, nextToken) => {
      if (nextToken === undefined || nextToken === null || nextToken === '') return false;
      if (list === null) return true;
      if (!isPageToken(nextToken)) keepsPages = 'until_here';
      await tokens.keep(list, page + 1, nextToken);
      return true;
    },
  };
};

/** Equal for arguments that differ in the order of their members only; those that are undefined do not count. */
const toDigest = (query: unknown): string => hash('sha256', JSON.stringify(query, sortMembers));

const sortMembers = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value;
