import { hash, timingSafeEqual } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, promises, readFileSync, type Stats } from 'node:fs';
import { isToolPattern } from '../contract/tool-names.ts';
import { type FileReading, watchFile } from '../files/watch-file.ts';
import {
  ALL_TOOLS,
  type Authentication,
  type Caller,
  DEFAULT_OPERATIONS,
  isTenant,
  OPERATIONS,
  type Operation,
  parseRate,
  toAllowedTools,
} from './callers.ts';

export type ApiKeysOptions = {
  /** Entries of API_KEYS. */
  readonly entries: readonly string[];
  /** API_KEYS_FILE as it was read, and to be followed. */
  readonly file: KeyFile | null;
  /** A change of the file was taken, or refused for the mistakes in it: the keys from before are then still right. */
  readonly onReload: (reload: Reload) => void;
  /** Unix milliseconds. */
  readonly time: () => number;
  /** Reads the file anew; left out: `readKeyFile`. */
  readonly read?: (path: string) => Promise<FileReading>;
  /** Between two readings of the file. A change is taken at the second that shows it. */
  readonly pollMs?: number;
};

export type Reload =
  | { readonly result: 'taken'; readonly keys: number }
  | { readonly result: 'refused'; readonly mistakes: readonly string[] };

/** One key as it is configured: by its hash, never by itself. */
export type ApiKey = {
  /** SHA-256 of what callers send, 32 bytes. */
  readonly hash: Buffer;
  readonly caller: Caller & { readonly keyHash: string };
};

/** The keys that are known now. */
export type ApiKeys = ReturnType<typeof createApiKeys>;

/** A call that this or another process has let in by the key of this hash. */
type AcceptedByKey = {
  readonly keyHash: string;
  readonly tenant: string;
  readonly tool: string;
  /** How long ago, in milliseconds: the clocks of two processes differ. */
  readonly agoMs: number;
};

// Until every process of a roll-out has the keys that one of them has let a call in by.
const MOST_BEHIND_MS = 600_000;

// A revoked key is refused a second later, and a file of a few kilobytes is read twice a second.
const POLL_MS = 500;

/** Loads the keys, and follows their file. Throws one sentence with every mistake where the keys are not right. */
export const createApiKeys = (options: ApiKeysOptions) => {
  const { entries, file, onReload, time, read = readKeyFile, pollMs = POLL_MS } = options;
  let keys = indexKeys(loadFirstKeys({ entries, file }));
  let loadedAt = time();
  const onChange = (reading: FileReading): void => {
    const { keys: loaded, mistakes } = reading.ok
      ? loadApiKeys({ entries, fileText: reading.text })
      : { keys: [], mistakes: [reading.problem] };
    if (mistakes.length > 0) {
      onReload({ result: 'refused', mistakes });
      return;
    }
    keys = indexKeys(loaded);
    loadedAt = time();
    onReload({ result: 'taken', keys: keys.size });
  };
  const isExpired = ({ validUntil = Number.POSITIVE_INFINITY }: Caller): boolean => validUntil <= time();
  return {
    /**
     * Answers at once, by one lookup, however many keys there are. Its time tells nothing of use: it depends on the hash of
     * what was sent, which the sender cannot bring nearer to a hash that is stored without knowing the key. What was found
     * is compared in constant time.
     */
    authenticate: (credential: string): Authentication => {
      const sent = hash('sha256', credential, 'buffer');
      const found = keys.get(sent.toString('hex'));
      if (found === undefined || !timingSafeEqual(found.hash, sent)) return { kind: 'refused', reason: 'unknown' };
      return isExpired(found.caller) ? { kind: 'refused', reason: 'expired' } : { kind: 'known', caller: found.caller };
    },
    /**
     * Whether the key of this hash is one of this tenant's, has not expired, and may call this tool. `unknown`: not by these
     * keys, which are older than the call, and another process may have newer ones.
     */
    mayCall: ({ keyHash, tenant, tool, agoMs }: AcceptedByKey): 'yes' | 'no' | 'unknown' => {
      const caller = keys.get(keyHash)?.caller;
      if (caller !== undefined && isExpired(caller)) return 'no';
      if (caller?.tenant === tenant && caller.may('call') && caller.mayUse(tool)) return 'yes';
      // Keys from before the call say nothing of one that was added since.
      return agoMs < Math.min(time() - loadedAt, MOST_BEHIND_MS) ? 'unknown' : 'no';
    },
    /** Keys that are known, expired ones included. */
    count: (): number => keys.size,
    /** Follows the file no longer. */
    close: file === null ? () => undefined : watchFile({ file, pollMs, onChange, read }),
  };
};

/** The keys of the start. Throws one sentence with the mistakes in them. */
export const loadFirstKeys = ({ entries, file }: Pick<ApiKeysOptions, 'entries' | 'file'>): readonly ApiKey[] => {
  const { keys, mistakes } = loadApiKeys({ entries, fileText: file?.text ?? null });
  const source = file === null ? 'API_KEYS' : `API_KEYS_FILE ${file.path}`;
  if (mistakes.length > 0) throw new Error(`${source}: ${mistakes.join('; ')}.`);
  return keys;
};

const indexKeys = (keys: readonly ApiKey[]): ReadonlyMap<string, ApiKey> =>
  new Map(keys.map((key) => [key.caller.keyHash, key]));

// Whoever reads them mends the first few, or sees that the file is the wrong one.
const MAX_MISTAKES = 20;

/**
 * All keys of API_KEYS (`entries`) and of the text of API_KEYS_FILE, and the mistakes in them at once. Each mistake names
 * its entry or its line, and says what to do; the last may count those beyond the first twenty. One key twice is a
 * mistake: its rights would be whichever is found first.
 */
export const loadApiKeys = ({
  entries,
  fileText,
}: {
  readonly entries: readonly string[];
  readonly fileText: string | null;
}): { readonly keys: readonly ApiKey[]; readonly mistakes: readonly string[] } => {
  const places = [
    ...entries.map((entry, position) => ({ place: `entry ${position + 1} of API_KEYS`, entry })),
    ...readLines(fileText ?? ''),
  ];
  const keys: ApiKey[] = [];
  const mistakes: string[] = [];
  const seen = new Map<string, string>();
  for (const { place, entry } of places) {
    const parsed = parseApiKey(entry);
    if (!parsed.ok) {
      mistakes.push(`${place} ${parsed.mistake}`);
      continue;
    }
    const { keyHash } = parsed.key.caller;
    const before = seen.get(keyHash);
    seen.set(keyHash, before ?? place);
    if (before === undefined) keys.push(parsed.key);
    else mistakes.push(`${place} repeats the key of ${before}; remove one`);
  }
  const surplus = mistakes.length - MAX_MISTAKES;
  return { keys, mistakes: surplus > 0 ? [...mistakes.slice(0, MAX_MISTAKES), `… and ${surplus} more`] : mistakes };
};

/**
 * The lines of a file that are not blank and no comment, counted from 1 as editors do, whatever they end in: with CR
 * alone a file that begins with a comment would be one comment. A byte order mark is no harm.
 */
const readLines = (text: string) =>
  text.split(/\r\n?|\n/).flatMap((line, position) => {
    const entry = line.trim();
    return entry === '' || entry.startsWith('#') ? [] : [{ place: `line ${position + 1}`, entry }];
  });

/** What the attributes of a key say. */
type Rights = Partial<Pick<Caller, 'key' | 'rate' | 'tools' | 'mayUse' | 'may' | 'validUntil'>>;

// Nothing of an entry is repeated in a mistake: somebody may have put the key itself there.
const NO_PAIR =
  'must be tenant=SHA-256, the hash of a key in 64 hex digits, for example acme=5e88…; `recourse key` creates one';
const NO_TENANT =
  'must be for a tenant of 1 to 64 letters, digits, _ . and -, and not for `anonymous`, which is reserved';
const NO_ATTRIBUTE = 'has an unknown attribute; allowed after the hash: name=, tools=, may=, rate= and expires=';

/** What is wrong with an entry of API_KEYS or a line of API_KEYS_FILE, as the end of a sentence; null where nothing is. */
export const findKeyMistake = (entry: string): string | null => {
  const parsed = parseApiKey(entry);
  return parsed.ok ? null : parsed.mistake;
};

/** Reads `tenant=sha256 name=ci tools=read_file|github_* may=call|read rate=600/m expires=2027-06-30`. */
export const parseApiKey = (
  entry: string,
): { readonly ok: true; readonly key: ApiKey } | { readonly ok: false; readonly mistake: string } => {
  const [pair = '', ...attributes] = entry.trim().split(/\s+/);
  const [, tenant = '', digits = ''] = /^([^=]+)=([0-9a-f]{64})$/i.exec(pair) ?? [];
  if (digits === '') return { ok: false, mistake: NO_PAIR };
  if (!isTenant(tenant)) return { ok: false, mistake: NO_TENANT };
  const rights = parseRights(attributes);
  if (typeof rights === 'string') return { ok: false, mistake: rights };
  const keyHash = digits.toLowerCase();
  // A key that is made anew under its old name is the same caller; one without a name is its hash.
  const id = hash('sha256', JSON.stringify(['key', tenant, rights.key ?? keyHash])).slice(0, 32);
  const caller = {
    ...{ key: keyHash.slice(0, 8), ...ALL_TOOLS, rate: null, ...allow(DEFAULT_OPERATIONS), ...rights },
    ...{ keyHash, tenant, id, rateKey: `key:${keyHash.slice(0, 32)}` },
  };
  return { ok: true, key: { hash: Buffer.from(keyHash, 'hex'), caller } };
};

/** What the attributes after the hash grant, or what is wrong with the first wrong one. */
const parseRights = (attributes: readonly string[]): Rights | string => {
  const seen = new Set<string>();
  let rights: Rights = {};
  for (const attribute of attributes) {
    const name = attribute.slice(0, attribute.indexOf('=') + 1);
    const { rule, parse } = ATTRIBUTES.get(name) ?? { rule: NO_ATTRIBUTE, parse: () => null };
    if (seen.has(name)) return `has ${name} twice; remove one`;
    seen.add(name);
    const granted = parse(attribute.slice(name.length));
    if (granted === null) return rule;
    rights = { ...rights, ...granted };
  }
  return rights;
};

const allow = (operations: readonly Operation[]): Pick<Caller, 'may'> => ({
  may: (operation) => operations.includes(operation),
});

const parseOperations = (text: string): Rights | null => {
  const given = text.split('|');
  const named = OPERATIONS.filter((operation) => given.includes(operation));
  return named.length === given.length ? allow(named) : null;
};

// Only UTC: a line must mean the same wherever it is read.
const INSTANT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z)?$/;

/** From that instant on the key is refused; a date alone means its beginning. */
const parseExpiry = (text: string): Rights | null => {
  const validUntil = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  // 30 February would be taken for a day in March.
  const isReal = !Number.isNaN(validUntil) && new Date(validUntil).toISOString().startsWith(text.slice(0, 10));
  return isReal ? { validUntil } : null;
};

/** `parse` gives null where the rule is broken. */
const ATTRIBUTES = new Map<string, { readonly rule: string; readonly parse: (text: string) => Rights | null }>([
  [
    'name=',
    {
      parse: (text) => (/^[A-Za-z0-9_.-]{1,64}$/.test(text) ? { key: text } : null),
      rule: 'has an invalid name=; use 1 to 64 letters, digits, _ . and -',
    },
  ],
  [
    'tools=',
    {
      parse: (text) => (text.split('|').every(isToolPattern) ? toAllowedTools(text.split('|')) : null),
      rule: 'has an empty tools=; separate names and prefixes such as github_* by |',
    },
  ],
  [
    'may=',
    {
      parse: parseOperations,
      rule: 'has an invalid may=; separate call, read, reset, operate and approve by |, each at most once',
    },
  ],
  [
    'rate=',
    {
      parse: (text) => {
        const rate = parseRate(text);
        return rate === null ? null : { rate };
      },
      rule: 'has an invalid rate=; write requests per second, minute or hour, for example 600/m',
    },
  ],
  ['expires=', { parse: parseExpiry, rule: 'has an invalid expires=; write 2027-06-30 or 2027-06-30T12:00:00Z' }],
]);

/** A file of keys, and what it said when the service started. */
export type KeyFile = { readonly path: string; readonly text: string };

// Some seven thousand keys. What is larger is another file.
const MAX_BYTES = 1024 * 1024;
// A pipe must not hold the reader up: it says what it says once, and a reading of it may never end.
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** The file of keys as it is now. Throws as the system does, or one sentence where this is no file of keys. */
export const loadKeyFile = (path: string): KeyFile => {
  const descriptor = openSync(path, FLAGS);
  try {
    checkKeyFile(path, fstatSync(descriptor));
    return { path, text: readFileSync(descriptor, 'utf8') };
  } finally {
    closeSync(descriptor);
  }
};

/** The same without waiting for the file, and without throwing. */
export const readKeyFile = async (path: string): Promise<FileReading> => {
  const read = async (): Promise<FileReading> => {
    await using handle = await promises.open(path, FLAGS);
    checkKeyFile(path, await handle.stat());
    return { ok: true, text: await handle.readFile('utf8') };
  };
  return read().then(undefined, (error: unknown) => ({
    ok: false,
    problem: error instanceof Error ? error.message : String(error),
  }));
};

const checkKeyFile = (path: string, stats: Stats): void => {
  if (!stats.isFile()) throw new Error(`${path} is not a regular file; the key file is reread on changes.`);
  if (stats.size > MAX_BYTES) throw new Error(`${path} is larger than 1 MiB; a key file has one key per line.`);
};
