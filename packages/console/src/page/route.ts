/** What is looked at; kept in the fragment of the address, which is never sent. */
export type Route =
  | { readonly page: 'tools'; readonly tool: string | null }
  | { readonly page: 'session'; readonly id: string }
  | { readonly page: 'unknown' }
  | { readonly page: 'approvals'; readonly id: string | null }
  | { readonly page: 'extension'; readonly name: string };

/** Reads the fragment of an address: `#tool=read_file`, `#session=s_42`, `#unknown=`, `#approvals=a_…`, `#page=clock`. */
export const parseRoute = (fragment: string): Route => {
  const names = new URLSearchParams(fragment.replace(/^#/, ''));
  const name = names.get('page');
  if (name !== null) return { page: 'extension', name };
  if (names.has('unknown')) return { page: 'unknown' };
  if (names.has('approvals')) return { page: 'approvals', id: names.get('approvals') || null };
  const id = names.get('session');
  return id === null ? { page: 'tools', tool: names.get('tool') } : { page: 'session', id };
};

export const routeLink = (names: Readonly<Record<string, string>>): string => `#${new URLSearchParams(names)}`;
