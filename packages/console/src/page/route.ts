/** What is looked at; kept in the fragment of the address, which is never sent. */
export type Route =
  | { readonly page: 'overview'; readonly section: string | null }
  | { readonly page: 'tools'; readonly tool: string | null }
  | { readonly page: 'reports' }
  | { readonly page: 'sessions'; readonly state: SessionsState }
  /** `id` is `~` and 64 hex digits where only the hash of a session is known. */
  | { readonly page: 'session'; readonly id: string }
  | { readonly page: 'calls'; readonly tool: string; readonly code: string; readonly since: string }
  /** Equal failures share a reference: `request` and `index` tell which of them, where they stand in the address. */
  | { readonly page: 'call'; readonly reference: string; readonly request: string; readonly index: string }
  | { readonly page: 'pending'; readonly tool: string }
  | { readonly page: 'unknown' }
  | { readonly page: 'approvals'; readonly id: string | null }
  | { readonly page: 'search'; readonly text: string }
  | { readonly page: 'extension'; readonly name: string };

export type PageName = Route['page'];
export type SessionsState = (typeof SESSIONS_STATES)[number];

export const SESSIONS_STATES = ['failing', 'blocked', 'recent'] as const;

type Names = (name: string) => string;

// By the name that stands in the address; the first that does decides. What narrows a list is named behind it.
const ROUTES: readonly (readonly [string, (value: string, names: Names) => Route])[] = [
  ['page', (name) => ({ page: 'extension', name })],
  ['overview', (section) => ({ page: 'overview', section: section || null })],
  ['sessions', (asked) => ({ page: 'sessions', state: SESSIONS_STATES.find((state) => state === asked) ?? 'failing' })],
  ['session', (id) => (id === '' ? { page: 'sessions', state: 'recent' } : { page: 'session', id })],
  ['calls', (_, names) => ({ ...{ page: 'calls', tool: names('tool'), code: names('code') }, since: names('since') })],
  ['call', (reference, names) => ({ page: 'call', reference, request: names('request_id'), index: names('index') })],
  ['pending', (_, names) => ({ page: 'pending', tool: names('tool') })],
  ['unknown', () => ({ page: 'unknown' })],
  ['approvals', (id) => ({ page: 'approvals', id: id || null })],
  ['reports', () => ({ page: 'reports' })],
  ['search', (text) => ({ page: 'search', text })],
  ['tools', () => ({ page: 'tools', tool: null })],
  ['tool', (tool) => ({ page: 'tools', tool: tool || null })],
];

/** Reads the fragment of an address: `#overview=circuits`, `#tool=read_file`, `#calls=&tool=pay&code=timeout`, `#approvals=a_…`. */
export const parseRoute = (fragment: string): Route => {
  const names = new URLSearchParams(fragment.replace(/^#/, ''));
  const [name, read] = ROUTES.find(([name]) => names.has(name)) ?? [];
  if (name === undefined || read === undefined) return { page: 'overview', section: null };
  return read(names.get(name) ?? '', (other) => names.get(other) ?? '');
};

export const routeLink = (names: Readonly<Record<string, string>>): string => `#${new URLSearchParams(names)}`;
