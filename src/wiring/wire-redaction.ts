import { EXECUTED, FAILURE_CODES, OUTCOMES } from '../contract/failure.ts';
import { JournalEntry } from '../contract/session.ts';
import { ToolDescription } from '../contract/tool-description.ts';
import { FailureDetail, RetryState, ToolCallsResponse, ToolFailure, ToolSuccess } from '../contract/tool-result.ts';
import type { RedactedIn } from '../executor/redactor.ts';
import { createRedactor, type ServiceRedactor } from '../redaction/redactor.ts';
import type { Config } from '../settings/config.ts';
import type { CountSeries } from '../telemetry/tally.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Counts = Readonly<Record<RedactedIn, CountSeries>>;

export type WiredRedaction = {
  readonly redactor: ServiceRedactor;
  /** Where redacted texts are counted from now on, those so far included: the log is there before there are metrics. */
  readonly countIn: (counts: Counts) => void;
  /** Variables with a secret that is a word of the answers themselves, so that it is not registered. */
  readonly leftOut: readonly string[];
  /** Variables with a secret of fewer than 16 characters: a caller can try all of its guesses. */
  readonly guessable: readonly string[];
  /** Registers more values, each under the name of where it stands; gives the names of those that are left out likewise. */
  readonly register: (found: readonly NamedSecret[]) => readonly string[];
};

export type NamedSecret = { readonly name: string; readonly value: string };

/** Registers the secret values that the environment holds. */
export const wireRedaction = (config: Config, environment: Environment): WiredRedaction => {
  let counts: Counts = { result: { count: 0 }, journal: { count: 0 }, log: { count: 0 }, span: { count: 0 } };
  const redactor = createRedactor({
    secrets: [],
    onRedacted: (place) => {
      counts[place].count += 1;
    },
  });
  const register = (found: readonly NamedSecret[]): readonly string[] => {
    redactor.register(found.filter(({ value }) => !OWN_WORDS.has(value)).map(({ value }) => value));
    return [...new Set(found.filter(({ value }) => OWN_WORDS.has(value)).map(({ name }) => name))];
  };
  const found = findSecrets(config, environment);
  const leftOut = register(found);
  const guessable = [...new Set(found.filter(isGuessable).map(({ name }) => name))];
  const countIn = (next: Counts): void => {
    for (const place of PLACES) next[place].count += counts[place].count;
    counts = next;
  };
  return { redactor, countIn, leftOut, guessable, register };
};

// Sixteen random characters are beyond all guesses, whatever alphabet they are of.
const isGuessable = ({ value }: NamedSecret): boolean => value.length > 0 && value.length < 16;

const PLACES = ['result', 'journal', 'log', 'span'] as const satisfies readonly RedactedIn[];

/** Every value that must not be seen, and the variable it is of: see SECRETS_ENV, and the credentials in addresses and headers. */
const findSecrets = (config: Config, environment: Environment): readonly NamedSecret[] => {
  const given = Object.entries(environment).flatMap(([name, value = '']): readonly NamedSecret[] =>
    value === '' ? [] : [{ name, value }],
  );
  const isOfTools = ({ name }: NamedSecret): boolean =>
    matchesNames(name, config.TOOLS_ENV) || matchesNames(name, config.TOOLS_ENV_ALLOW);
  const addresses = (config.REDIS_URL ?? '').split(',').map((value): NamedSecret => ({ name: 'REDIS_URL', value }));
  return [
    ...given.filter(({ name }) => matchesNames(name, config.SECRETS_ENV)),
    ...addresses.flatMap((one) => withValues(one, toCredentials)),
    ...given.filter(({ name }) => OTLP_HEADERS.test(name)).flatMap((one) => withValues(one, toHeaderSecrets)),
    ...given.filter(isOfTools).flatMap((one) => withValues(one, toCredentials)),
  ];
};

const withValues = ({ name, value }: NamedSecret, read: (value: string) => readonly string[]): readonly NamedSecret[] =>
  read(value).map((part) => ({ name, value: part }));

/** Names, beginnings (`GITHUB_*`) and endings (`*_TOKEN`), in either case. */
export const matchesNames = (name: string, rules: readonly string[]): boolean => {
  const upper = name.toUpperCase();
  return rules.some((rule) => {
    const word = rule.toUpperCase();
    if (word.startsWith('*')) return upper.endsWith(word.slice(1));
    return word.endsWith('*') ? upper.startsWith(word.slice(0, -1)) : upper === word;
  });
};

/** The password of an address as it is written and as it is meant; its user where that is all, for then it is a token. */
export const toCredentials = (address: string): readonly string[] => {
  const [, user = '', password = ''] = ADDRESS.exec(address) ?? BOLD_ADDRESS.exec(address) ?? [];
  const secret = password === '' ? user : password;
  return secret === '' ? [] : [secret, fromUrl(secret)];
};

const ADDRESS = /:\/\/([^\s/:@]*)(?::([^\s/]*))?@/;
// Its password holds a `/` as it is: then there is no port in its place.
const BOLD_ADDRESS = /:\/\/([^\s/:@[]*):(?!\d{1,5}(?!\w))(\S+)@/;

const OTLP_HEADERS = /^OTEL_EXPORTER_OTLP_(TRACES_)?HEADERS$/;

/** Of `name=value,name=value`, and of a credential without its scheme. */
const toHeaderSecrets = (headers: string): readonly string[] =>
  headers.split(',').flatMap((header) => {
    const written = header.slice(header.indexOf('=') + 1).trim();
    return [written, fromUrl(written)].flatMap((value) => [value, withoutScheme(value)]);
  });

/** A credential of HTTP as what follows its scheme. */
export const withoutScheme = (credential: string): string => credential.replace(/^(Bearer|Basic|Token)\s+/i, '');

// URLSearchParams takes what is no escape as it is, where decodeURIComponent throws.
const fromUrl = (text: string): string => new URLSearchParams(`v=${encodePlain(text)}`).get('v') ?? '';
const encodePlain = (text: string): string => text.replace(/[+&#;]/g, (sign) => encodeURIComponent(sign));

// A password that is one of these would take the meaning from every answer.
const OWN_WORDS: ReadonlySet<string> = new Set([
  'redacted',
  ...FAILURE_CODES,
  ...OUTCOMES,
  ...EXECUTED,
  ...[ToolCallsResponse, ToolSuccess, ToolFailure, FailureDetail, RetryState, JournalEntry, ToolDescription].flatMap(
    ({ shape }) => Object.keys(shape),
  ),
]);
