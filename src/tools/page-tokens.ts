/** Which list a page belongs to: a search for the same thing, by one tool, in one session. */
export type PageList = {
  /** The opaque key of the session, `ToolContext.session`. */
  readonly session: string;
  readonly tool: string;
  /** What makes two searches the same, as a short text: a digest of all arguments but the page. */
  readonly query: string;
};

/**
 * Keeps what an upstream wants to hear for its next page, so that a model need not carry it. The token of a page is the one
 * that came when the page before it was read last; tokens of later pages stay until they are replaced, so that two who
 * walk one list at once do not take each other's pages away. A session has the last 200 pages that were new to it.
 */
export type PageTokens = {
  /** The token of this page of a list; null where no page led to it, or it was forgotten. Never rejects. */
  readonly find: (list: PageList, page: number) => Promise<string | null>;
  /** Keeps the token of a page. What cannot be kept is lost: the page is then not available. Never rejects. */
  readonly keep: (list: PageList, page: number, token: string) => Promise<void>;
};

/** The same for whoever ends sessions. */
export type PageTokenStore = PageTokens & {
  /** Forgets all pages of a session. Never rejects. */
  readonly forget: (session: string) => Promise<void>;
};

/** How many pages one session may have at once; the one that came first is forgotten first. */
export const MAX_PAGES_PER_SESSION = 200;

// Those of Google and Slack have some hundred characters at most.
const PAGE_TOKEN = /^[\x20-\x7e]{1,4096}$/;

/** Whether a token is kept: 1 to 4 096 printable characters of ASCII, which every store gives back as they were. */
export const isPageToken = (token: string): boolean => PAGE_TOKEN.test(token);
