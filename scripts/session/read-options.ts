import { parseArgs } from 'node:util';

const DEFAULT_URL = 'http://127.0.0.1:8080';

export const USAGE = `Usage: npm run session -- <id> [--url <url>] [--key <key>] [--json]

Shows a session of a running Recourse: its budgets, and the calls that its journal keeps.

  <id>          the session as its batches name it; after -- where it begins with a hyphen
  --url <url>   where the service is; else RECOURSE_URL, else ${DEFAULT_URL}
  --key <key>   the API key; else RECOURSE_API_KEY, which no list of processes shows
  --json        the whole view as JSON
  --help        this text

Exit code: 0 = shown, 1 = the service did not give it, 2 = not called like this.`;

export type SessionOptions = {
  readonly id: string;
  readonly url: URL;
  readonly key: string | null;
  readonly format: 'table' | 'json';
};

export type ReadOptions =
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly problem: string }
  | { readonly kind: 'show'; readonly options: SessionOptions };

type Environment = Readonly<Record<string, string | undefined>>;

/** What the words after the command ask for. An empty variable is as good as none. */
export const readOptions = (words: readonly string[], environment: Environment): ReadOptions => {
  const parsed = parse(words);
  if (typeof parsed === 'string') return wrong(parsed);
  const { values, positionals } = parsed;
  if (values.help) return { kind: 'help' };
  const id = toId(positionals);
  const service = toService(values, environment);
  if ('problem' in id) return wrong(id.problem);
  if ('problem' in service) return wrong(service.problem);
  return { kind: 'show', options: { ...id, ...service, format: values.json ? 'json' : 'table' } };
};

type Problem = { readonly problem: string };

const toId = ([id = '', ...more]: readonly string[]): Pick<SessionOptions, 'id'> | Problem => {
  if (id === '') return { problem: 'Which session? Its id is missing.' };
  if (more.length > 0) return { problem: 'One session at a time; put an id with blanks into quotes.' };
  // Every client takes these for steps in the path, escaped or not.
  return id === '.' || id === '..' ? { problem: `A session called '${id}' cannot be named in a URL.` } : { id };
};

const toService = (
  given: { readonly url?: string | undefined; readonly key?: string | undefined },
  environment: Environment,
): Pick<SessionOptions, 'url' | 'key'> | Problem => {
  const url = toBase(given.url ?? (environment['RECOURSE_URL'] || DEFAULT_URL));
  const key = given.key ?? (environment['RECOURSE_API_KEY'] || null);
  if (url === null) return { problem: `--url (or RECOURSE_URL) must be a URL such as ${DEFAULT_URL}.` };
  return isKey(key) ? { url, key } : { problem: 'The API key must be printable ASCII without blanks.' };
};

// What a header can carry.
const isKey = (key: string | null): boolean => key === null || /^[\x21-\x7e]+$/.test(key);

const wrong = (problem: string): ReadOptions => ({ kind: 'wrong', problem });

const parse = (words: readonly string[]) => {
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: true,
      options: {
        url: { type: 'string' },
        key: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false, short: 'h' },
      },
    });
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

const toBase = (text: string): URL | null => {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null;
  // Nothing that Recourse would ask for, and fetch would repeat it in its error.
  return url.username === '' && url.password === '' ? url : null;
};
