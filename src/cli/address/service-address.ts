import type { LoadedEnvironment } from '../terminal/cli-context.ts';

const DEFAULT_URL = 'http://127.0.0.1:8080';

/** Where a running service is, and as whom it is asked. */
export type ServiceAddress = { readonly url: URL; readonly key: string | null };

type Words = {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly envFile?: string | undefined;
};

/** The service that the options name, else RECOURSE_URL and RECOURSE_API_KEY, of which an empty one is as good as none. */
export const toServiceAddress = (
  words: Words,
  loaded: LoadedEnvironment,
): ServiceAddress | { readonly wrong: string } => {
  const { variables } = loaded;
  const url = toBase(words.url ?? (variables['RECOURSE_URL'] || DEFAULT_URL));
  const key = words.key ?? (variables['RECOURSE_API_KEY'] || null);
  if (url === null) return { wrong: `--url (or RECOURSE_URL) must be a URL such as ${DEFAULT_URL}.` };
  if (!isKey(key)) return { wrong: 'The API key must be printable ASCII without blanks.' };
  return isLuredAway(words, loaded)
    ? {
        wrong: `RECOURSE_URL is from ${loaded.file}, your API key is not: give --url, so that the key goes where you say.`,
      }
    : { url, key };
};

/** Whether a `.env` that happens to lie in the working directory says where a key goes that it does not know. */
const isLuredAway = ({ url, key, envFile }: Words, { file, before, variables }: LoadedEnvironment): boolean =>
  file !== null &&
  envFile === undefined &&
  url === undefined &&
  before['RECOURSE_URL'] === undefined &&
  Boolean(variables['RECOURSE_URL']) &&
  Boolean(key ?? before['RECOURSE_API_KEY']);

// What a header can carry.
const isKey = (key: string | null): boolean => key === null || /^[\x21-\x7e]+$/.test(key);

const toBase = (text: string): URL | null => {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null;
  // Nothing that Recourse would ask for, and fetch would repeat it in its error.
  return url.username === '' && url.password === '' ? url : null;
};
