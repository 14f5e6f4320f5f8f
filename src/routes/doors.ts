/** Which rules a request is let in by: none but those of its origin, those of a batch, or those of all else. */
export type Door = 'open' | 'batch' | 'other';

/** What a route asks of a caller: to `call` tools and look at them, to `read` sessions, to `reset` or end them. */
export type RouteOperation = 'call' | 'read' | 'reset';

// What operators and browsers read without a key; also open while draining.
const OPEN_PATHS: ReadonlySet<string> = new Set(['/', '/live', '/ready', '/metrics', '/openapi.json']);
// Pages without data: what they show they ask for, with a key.
const OPEN_PAGES = ['/docs', '/console'];

const isOpen = (url: string | undefined): boolean =>
  url === undefined || OPEN_PATHS.has(url) || OPEN_PAGES.some((page) => url === page || url.startsWith(`${page}/`));

// Batches may have calls in them: the only requests that cost much, and the only ones that are ever refused for it.
/** `url`: the pattern of the route, undefined where there is none. */
export const doorOf = (method: string, url: string | undefined): Door => {
  if (method === 'POST' && (url === '/tool-calls' || url === '/mcp')) return 'batch';
  return isOpen(url) ? 'open' : 'other';
};

/** By path and method, so that a route which is forgotten here still needs a right. */
export const operationOf = (method: string, url = ''): RouteOperation => {
  if (!url.startsWith('/sessions/')) return 'call';
  return method === 'DELETE' ? 'reset' : 'read';
};
