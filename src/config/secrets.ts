import { splitRedisUrl } from '../sessions/redis-url.ts';
import type { Variables } from './file/expand-variables.ts';
import type { Config } from './settings/config.ts';

/** A value that must not be seen, and where it stands: a variable, or a member of the configuration file. */
export type NamedSecret = { readonly name: string; readonly value: string };

/** Values of the variables that SECRETS_ENV names, and the credentials in addresses and headers of other variables. */
export const findEnvironmentSecrets = (
  { SECRETS_ENV, TOOLS_ENV, TOOLS_ENV_ALLOW, REDIS_URL = '', REDIS_SENTINEL_PASSWORD = '', STORE_KEYS }: Config,
  environment: Variables,
): readonly NamedSecret[] => {
  const variables = Object.entries(environment).flatMap(([name, value]) => (value ? [{ name, value }] : []));
  const ofTools = [...TOOLS_ENV, ...TOOLS_ENV_ALLOW];
  const addresses = splitRedisUrl(REDIS_URL).map((value) => ({ name: 'REDIS_URL', value }));
  return [
    ...variables.filter(({ name }) => matchesNames(name, SECRETS_ENV)),
    ...addresses.flatMap((one) => withValues(one, toCredentials)),
    ...STORE_KEYS.map((entry) => ({ name: 'STORE_KEYS', value: entry.slice(entry.indexOf(':') + 1) })),
    ...(REDIS_SENTINEL_PASSWORD === '' ? [] : [{ name: 'REDIS_SENTINEL_PASSWORD', value: REDIS_SENTINEL_PASSWORD }]),
    ...variables.filter(({ name }) => OTLP_HEADERS.test(name)).flatMap((one) => withValues(one, toOtlpSecrets)),
    ...variables.filter(({ name }) => matchesNames(name, ofTools)).flatMap((one) => withValues(one, toCredentials)),
  ];
};

const withValues = ({ name, value }: NamedSecret, read: (value: string) => readonly string[]): readonly NamedSecret[] =>
  read(value).map((part) => ({ name, value: part }));

/** Whether a name is one of these names, beginnings (`GITHUB_*`) and endings (`*_TOKEN`), in either case. */
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
const toOtlpSecrets = (headers: string): readonly string[] =>
  headers.split(',').flatMap((header) => {
    const written = header.slice(header.indexOf('=') + 1).trim();
    return [written, fromUrl(written)].flatMap((value) => [value, withoutScheme(value)]);
  });

/** A credential of HTTP as what follows its scheme. */
export const withoutScheme = (credential: string): string => credential.replace(/^(Bearer|Basic|Token)\s+/i, '');

// URLSearchParams takes what is no escape as it is, where decodeURIComponent throws.
const fromUrl = (text: string): string => new URLSearchParams(`v=${encodePlain(text)}`).get('v') ?? '';
const encodePlain = (text: string): string => text.replace(/[+&#;]/g, (sign) => encodeURIComponent(sign));
