import { hash, timingSafeEqual } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, promises, readFileSync, type Stats, statSync } from 'node:fs';
import { isToolPattern } from '../contract/tool-names.ts';
import { type FileReading, watchFile } from '../files/watch-file.ts';
import {
  ALL_TOOLS,
  type Authentication,
  type Caller,
  isTenant,
  OPERATIONS,
  parseRate,
  toAllowedTools,
} from './callers.ts';

/** The keys that are known now. */
export type ApiKeys = {
  /** Answers at once. */
  readonly authenticate: (credential: string | undefined) => Authentication;
  /**
   * Whether the key of this hash (64 hex digits) is one of this tenant's, has not expired, and may call this tool. `unknown`: not by
   * these keys, which are older than the call, and another process may have newer ones.
   */
  readonly mayCall: (call: AcceptedByKey) => 'yes' | 'no' | 'unknown';
  /** Keys that are known, expired ones included. */
  readonly count: () => number;
  /** Follows the file no longer. */
  readonly close: () => void;
};

/** A call that this or another process has let in by the key of this hash. */
type AcceptedByKey = {
  readonly keyHash: string;
  readonly tenant: string;
  readonly tool: string;
  /** How long ago, in milliseconds: the clocks of two processes differ. */
  readonly agoMs: number;
};

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
  /** Unix milliseconds from which it is refused; null: never. */
  readonly expiresAt: number | null;
  readonly caller: Caller;
};

// Until every process of a roll-out has the keys that one of them has let a call in by.
const MOST_BEHIND_MS = 600_000;

// A revoked key is refused a second later, and a file of a few kilobytes is read twice a second.
const POLL_MS = 500;

/** Loads the keys, and follows their file. Throws one sentence with every mistake where the keys are not right. */
export const createApiKeys = (options: ApiKeysOptions): ApiKeys => {
  const { entries, file, onReload, time, read = readKeyFile, pollMs = POLL_MS } = options;
  let keys = toKeysByHash(loadFirstKeys({ entries, file }));
  let loadedAt = time();
  const onChange = (reading: FileReading): void => {
    const loaded = reading.ok
      ? loadApiKeys({ entries, fileText: reading.text })
      : { keys: [], mistakes: [reading.problem] };
    const isRight = loaded.mistakes.length === 0;
    if (isRight) {
      keys = toKeysByHash(loaded.keys);
      loadedAt = time();
    }
    onReload(isRight ? { result: 'taken', keys: keys.size } : { result: 'refused', mistakes: loaded.mistakes });
  };
  return {
    authenticate: (credential) => findCaller(credential, keys, time),
    mayCall: ({ keyHash, tenant, tool, agoMs }) => {
      const key = keys.get(Buffer.from(keyHash, 'hex').toString('latin1'));
      if (key !== undefined && isExpired(key, time)) return 'no';
      if (key?.caller.tenant === tenant && key.caller.may('call') && key.caller.mayUse(tool)) return 'yes';
      // Keys from before the call say nothing of one that was added since.
      return agoMs < Math.min(time() - loadedAt, MOST_BEHIND_MS) ? 'unknown' : 'no';
    },
    count: () => keys.size,
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

/** By the SHA-256 of what callers send: its 32 bytes as text. */
type KeysByHash = ReadonlyMap<string, ApiKey>;

const toKeysByHash = (keys: readonly ApiKey[]): KeysByHash =>
  new Map(keys.map((key) => [key.hash.toString('latin1'), key]));

/**
 * One lookup, however many keys there are. Its time tells nothing of use: it depends on the hash of what was sent, which the
 * sender cannot bring nearer to a hash that is stored without knowing the key. What was found is compared in constant
 * time. The hash is made also without a credential.
 */
const findCaller = (credential: string | undefined, keys: KeysByHash, time: () => number): Authentication => {
  const sent = hash('sha256', credential ?? '', 'buffer');
  const found = keys.get(sent.toString('latin1'));
  if (credential === undefined || credential === '') return { kind: 'refused', reason: 'missing' };
  if (found === undefined || !timingSafeEqual(found.hash, sent)) return { kind: 'refused', reason: 'unknown' };
  if (isExpired(found, time)) return { kind: 'refused', reason: 'expired' };
  return { kind: 'known', caller: found.caller };
};

const isExpired = ({ expiresAt }: ApiKey, time: () => number): boolean => expiresAt !== null && expiresAt <= time();

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
  const places: readonly Place[] = [
    ...entries.map((entry, position) => ({ where: `entry ${position + 1} of API_KEYS`, entry })),
    ...toLines(fileText ?? ''),
  ];
  const keys: ApiKey[] = [];
  const mistakes: string[] = [];
  const seen = new Map<string, string>();
  for (const { where, entry } of places) {
    const parsed = parseApiKey(entry);
    if (!parsed.ok) {
      mistakes.push(`${where} ${parsed.mistake}`);
      continue;
    }
    const digest = parsed.key.hash.toString('hex');
    const before = seen.get(digest);
    seen.set(digest, before ?? where);
    if (before === undefined) keys.push(parsed.key);
    else mistakes.push(`${where} repeats the key of ${before}; remove one`);
  }
  const surplus = mistakes.length - MAX_MISTAKES;
  return { keys, mistakes: surplus > 0 ? [...mistakes.slice(0, MAX_MISTAKES), `… and ${surplus} more`] : mistakes };
};

type Place = { readonly where: string; readonly entry: string };

/**
 * The lines of a file that are not blank and no comment, counted from 1 as editors do, whatever they end in: with CR
 * alone a file that begins with a comment would be one comment. A byte order mark is no harm.
 */
const toLines = (text: string): readonly Place[] =>
  text.split(/\r\n?|\n/).flatMap((line, position) => {
    const entry = line.trim();
    return entry === '' || entry.startsWith('#') ? [] : [{ where: `line ${position + 1}`, entry }];
  });

/** What the attributes of a key say. */
type Rights = Pick<Caller, 'rate' | 'tools' | 'mayUse' | 'may'> & Pick<ApiKey, 'expiresAt'> & { readonly key?: string };

// Nothing of an entry is repeated in a mistake: somebody may have put the key itself there.
const NO_PAIR =
  'must be tenant=SHA-256, the hash of a key in 64 hex digits, for example acme=5e88…; `recourse key` creates one';
const NO_TENANT =
  'must be for a tenant of 1 to 64 letters, digits, _ . and -, and not for `anonymous`, which is reserved';
const NO_ATTRIBUTE = 'has an unknown attribute; allowed after the hash: name=, tools=, may=, rate= and expires=';

const EVERYTHING: Rights = { ...ALL_TOOLS, rate: null, may: () => true, expiresAt: null };

/** What is wrong with an entry of API_KEYS or a line of API_KEYS_FILE, as the end of a sentence; null where nothing is. */
export const findKeyMistake = (entry: string): string | null => {
  const parsed = parseApiKey(entry);
  return parsed.ok ? null : parsed.mistake;
};

/** Reads `tenant=sha256 name=ci tools=read_file|github_* may=call|read rate=600/m expires=2027-06-30`. */
export const parseApiKey = (
  entry: string,
): { readonly ok: true; readonly key: ApiKey } | { readonly ok: false; readonly mistake: string } => {
  const [pair = '', ...words] = entry.trim().split(/\s+/);
  const [, tenant = '', digits = ''] = /^([^=]+)=([0-9a-f]{64})$/i.exec(pair) ?? [];
  if (digits === '') return { ok: false, mistake: NO_PAIR };
  if (!isTenant(tenant)) return { ok: false, mistake: NO_TENANT };
  const rights = toRights(words);
  if (typeof rights === 'string') return { ok: false, mistake: rights };
  const hex = digits.toLowerCase();
  const { expiresAt, ...granted } = rights;
  // A key that is made anew under its old name is the same caller; one without a name is its hash.
  const id = hash('sha256', JSON.stringify(['key', tenant, granted.key ?? hex])).slice(0, 32);
  const caller: Caller = {
    ...{ key: hex.slice(0, 8), ...granted, keyHash: hex, tenant, id, rateKey: `key:${hex.slice(0, 32)}` },
    ...(expiresAt === null ? {} : { validUntil: expiresAt }),
  };
  return { ok: true, key: { hash: Buffer.from(hex, 'hex'), expiresAt, caller } };
};

/** What the words after the hash grant, or what is wrong with the first wrong one. */
const toRights = (words: readonly string[]): Rights | string => {
  const seen = new Set<string>();
  let rights = EVERYTHING;
  for (const word of words) {
    const name = word.slice(0, word.indexOf('=') + 1);
    const attribute = ATTRIBUTES.get(name);
    if (attribute === undefined) return NO_ATTRIBUTE;
    if (seen.has(name)) return `has ${name} twice; remove one`;
    seen.add(name);
    const granted = attribute.parse(word.slice(name.length));
    if (granted === null) return attribute.rule;
    rights = { ...rights, ...granted };
  }
  return rights;
};

const parseOperations = (text: string): Partial<Rights> | null => {
  const words = text.split('|');
  const named = OPERATIONS.filter((operation) => words.includes(operation));
  return named.length === words.length ? { may: (operation) => named.includes(operation) } : null;
};

// Only UTC: a line must mean the same wherever it is read.
const INSTANT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z)?$/;

/** From that instant on the key is refused; a date alone means its beginning. */
const parseExpiry = (text: string): Partial<Rights> | null => {
  const expiresAt = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  // 30 February would be taken for a day in March.
  const isReal = !Number.isNaN(expiresAt) && new Date(expiresAt).toISOString().startsWith(text.slice(0, 10));
  return isReal ? { expiresAt } : null;
};

/** `parse` gives null where the rule is broken. */
type Attribute = { readonly rule: string; readonly parse: (text: string) => Partial<Rights> | null };

const ATTRIBUTES: ReadonlyMap<string, Attribute> = new Map<string, Attribute>([
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
    { parse: parseOperations, rule: 'has an invalid may=; separate call, read and reset by |, each at most once' },
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
// A pipe that took the place of the file after it was looked at must not hold the reader up.
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** The file of keys as it is now. Throws as the system does, or one sentence where this is no file of keys. */
export const loadKeyFile = (path: string): KeyFile => {
  refuse(path, statSync(path, { throwIfNoEntry: false }));
  const descriptor = openSync(path, FLAGS);
  try {
    refuse(path, fstatSync(descriptor));
    return { path, text: toText(path, readFileSync(descriptor)) };
  } finally {
    closeSync(descriptor);
  }
};

/** The same without waiting for the file, and without throwing. */
export const readKeyFile = (path: string): Promise<FileReading> =>
  readText(path).then(
    (text) => ({ ok: true, text }),
    (error: unknown) => ({ ok: false, problem: error instanceof Error ? error.message : String(error) }),
  );

const readText = async (path: string): Promise<string> => {
  // What cannot be looked at cannot be opened either, and then that says why.
  const nothing = (): undefined => undefined;
  refuse(path, await promises.stat(path).then((stats) => stats, nothing));
  const handle = await promises.open(path, FLAGS);
  try {
    refuse(path, await handle.stat());
    return toText(path, await handle.readFile());
  } finally {
    await handle.close();
  }
};

const refuse = (path: string, stats: Stats | undefined): void => {
  if (stats === undefined) return;
  // A pipe says what it says once, and a reading of it may never end.
  if (!stats.isFile()) throw new Error(`${path} is not a regular file; the key file is reread on changes.`);
  if (stats.size > MAX_BYTES) throw tooLarge(path);
};

const toText = (path: string, bytes: Buffer): string => {
  if (bytes.length > MAX_BYTES) throw tooLarge(path);
  return bytes.toString('utf8');
};

const tooLarge = (path: string): Error => new Error(`${path} is larger than 1 MiB; a key file has one key per line.`);
