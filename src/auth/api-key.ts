import { hash } from 'node:crypto';
import { isToolPattern } from '../contract/tool-patterns.ts';
import { type Caller, OPERATIONS } from './caller.ts';
import { parseRate } from './rate.ts';
import { isTenant } from './tenant.ts';
import { ALL_TOOLS, toAllowedTools } from './tool-patterns.ts';

/** One key as it is configured: by its hash, never by itself. */
export type ApiKey = {
  /** SHA-256 of what callers send, 32 bytes. */
  readonly hash: Buffer;
  /** Unix milliseconds from which it is refused; null: never. */
  readonly expiresAt: number | null;
  readonly caller: Caller;
};

export type ParsedKey = { readonly ok: true; readonly key: ApiKey } | { readonly ok: false; readonly mistake: string };

/** What the attributes of a key say. */
type Rights = Pick<Caller, 'rate' | 'tools' | 'mayUse' | 'may'> & Pick<ApiKey, 'expiresAt'> & { readonly key?: string };

type Attribute = {
  readonly rule: string;
  /** null where the rule is broken. */
  readonly parse: (text: string) => Partial<Rights> | null;
};

// Nothing of an entry is repeated in a mistake: somebody may have put the key itself there.
const NO_PAIR =
  'must be tenant=SHA-256, the hash of a key in 64 hex digits, for example acme=5e88…; `recourse key` makes one';
const NO_TENANT =
  'must be for a tenant of 1 to 64 letters, digits, _ . and -, and not for `anonymous`, which is reserved';
const NO_ATTRIBUTE =
  'has a word that is no attribute; after the hash there may be name=, tools=, may=, rate= and expires=';

const EVERYTHING: Rights = { ...ALL_TOOLS, rate: null, may: () => true, expiresAt: null };

/** What is wrong with an entry of API_KEYS or a line of API_KEYS_FILE, as the end of a sentence; null where nothing is. */
export const findKeyMistake = (entry: string): string | null => {
  const parsed = parseApiKey(entry);
  return parsed.ok ? null : parsed.mistake;
};

/** Reads `tenant=sha256 name=ci tools=read_file|github_* may=call|read rate=600/m expires=2027-06-30`. */
export const parseApiKey = (entry: string): ParsedKey => {
  const [pair = '', ...words] = entry.trim().split(/\s+/);
  const [, tenant = '', digits = ''] = /^([^=]+)=([0-9a-f]{64})$/i.exec(pair) ?? [];
  if (digits === '') return { ok: false, mistake: NO_PAIR };
  if (!isTenant(tenant)) return { ok: false, mistake: NO_TENANT };
  const rights = toRights(words);
  if (typeof rights === 'string') return { ok: false, mistake: rights };
  const hex = digits.toLowerCase();
  const { expiresAt, ...granted } = rights;
  const id = toCallerId(tenant, granted.key ?? hex);
  const caller: Caller = { key: hex.slice(0, 8), ...granted, tenant, id, rateKey: `key:${hex.slice(0, 32)}` };
  return { ok: true, key: { hash: Buffer.from(hex, 'hex'), expiresAt, caller } };
};

/** A key that is made anew under its old name is the same caller; one without a name is its hash. */
const toCallerId = (tenant: string, name: string): string =>
  hash('sha256', JSON.stringify(['key', tenant, name])).slice(0, 32);

/** What the words after the hash grant, or what is wrong with the first wrong one. */
const toRights = (words: readonly string[]): Rights | string => {
  const seen = new Set<string>();
  let rights = EVERYTHING;
  for (const word of words) {
    const name = word.slice(0, word.indexOf('=') + 1);
    const attribute = ATTRIBUTES.get(name);
    if (attribute === undefined) return NO_ATTRIBUTE;
    if (seen.has(name)) return `says ${name} twice; leave one out`;
    seen.add(name);
    const granted = attribute.parse(word.slice(name.length));
    if (granted === null) return attribute.rule;
    rights = { ...rights, ...granted };
  }
  return rights;
};

const parseName = (text: string): Partial<Rights> | null =>
  /^[A-Za-z0-9_.-]{1,64}$/.test(text) ? { key: text } : null;

const parseTools = (text: string): Partial<Rights> | null => {
  const patterns = text.split('|');
  return patterns.every(isToolPattern) ? toAllowedTools(patterns) : null;
};

const parseOperations = (text: string): Partial<Rights> | null => {
  const words = text.split('|');
  const named = OPERATIONS.filter((operation) => words.includes(operation));
  return named.length === words.length ? { may: (operation) => named.includes(operation) } : null;
};

const parseKeyRate = (text: string): Partial<Rights> | null => {
  const rate = parseRate(text);
  return rate === null ? null : { rate };
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

const ATTRIBUTES: ReadonlyMap<string, Attribute> = new Map([
  ['name=', { parse: parseName, rule: 'has a name= that is not 1 to 64 letters, digits, _ . and -' }],
  [
    'tools=',
    { parse: parseTools, rule: 'has tools= without a list; join names, and beginnings such as github_*, by |' },
  ],
  [
    'may=',
    { parse: parseOperations, rule: 'has may= without a list of call, read and reset; join them by |, each once' },
  ],
  [
    'rate=',
    { parse: parseKeyRate, rule: 'has a rate= that is not requests per second, minute or hour, for example 600/m' },
  ],
  ['expires=', { parse: parseExpiry, rule: 'has expires= without a day; write 2027-06-30 or 2027-06-30T12:00:00Z' }],
]);
