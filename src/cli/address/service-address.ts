import type { Variables } from '../terminal/cli-context.ts';

const DEFAULT_URL = 'http://127.0.0.1:8080';

/** Where a running service is, and as whom it is asked. */
export type ServiceAddress = { readonly url: URL; readonly key: string | null };

type Words = { readonly url?: string | undefined; readonly key?: string | undefined };

/** The service that the options name, else RECOURSE_URL and RECOURSE_API_KEY, of which an empty one is as good as none. */
export const toServiceAddress = (words: Words, variables: Variables): ServiceAddress | { readonly wrong: string } => {
  const url = toBase(words.url ?? (variables['RECOURSE_URL'] || DEFAULT_URL));
  const key = words.key ?? (variables['RECOURSE_API_KEY'] || null);
  if (url === null) return { wrong: `--url (or RECOURSE_URL) must be a URL such as ${DEFAULT_URL}.` };
  return isKey(key) ? { url, key } : { wrong: 'The API key must be printable ASCII without blanks.' };
};

// What a header can carry.
const isKey = (key: string | null): boolean => key === null || /^[\x21-\x7e]+$/.test(key);

const toBase = (text: string): URL | null => {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null;
  // Nothing that Recourse would ask for, and fetch would repeat it in its error.
  return url.username === '' && url.password === '' ? url : null;
};
