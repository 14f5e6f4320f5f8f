import { splitRedisUrl } from '../sessions/redis-url.ts';
import type { ConfigText, Variables } from './file/expand-variables.ts';
import { toPathText } from './file/mistakes.ts';
import type { Config } from './settings/config.ts';

/** A value that must not be seen, and where it stands: a variable, or a member of the configuration file. */
export type NamedSecret = { readonly name: string; readonly value: string };

/** SECRETS_ENV: whether what is called so is secret. */
export type IsSecretName = (name: string) => boolean;

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
const toCredentials = (address: string): readonly string[] => {
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
const withoutScheme = (credential: string): string => credential.replace(/^(Bearer|Basic|Token)\s+/i, '');

// URLSearchParams takes what is no escape as it is, where decodeURIComponent throws.
const fromUrl = (text: string): string => new URLSearchParams(`v=${encodePlain(text)}`).get('v') ?? '';
const encodePlain = (text: string): string => text.replace(/[+&#;]/g, (sign) => encodeURIComponent(sign));

/**
 * What must not be seen of a configuration file: values of headers and of `auth`, secrets of webhooks and queries of their
 * addresses, values of an `env` whose names say so or that are credentials, variables that are no plain word, credentials in addresses, and what arguments give as a token, a
 * secret variable, a header or a credential.
 */
export const findFileSecrets = (texts: readonly ConfigText[], isSecretName: IsSecretName): readonly NamedSecret[] =>
  texts.flatMap((text, place) => {
    const name = toPathText(text.path);
    const values = [
      ...toPlaceSecrets(text, isSecretName),
      ...toVariableSecrets(text, isSecretName),
      ...toAddressSecrets(text.text),
      ...toWebhookSecrets(text),
      ...toArgumentSecrets(text, texts[place - 1], isSecretName),
    ];
    return [...new Set(values)].map((value) => ({ name, value }));
  });

const toPlaceSecrets = ({ path, text }: ConfigText, isSecretName: IsSecretName): readonly string[] => {
  const member = String(path.at(-1));
  const isSecret =
    (path.includes('headers', 2) && !PUBLIC_HEADERS.test(member)) ||
    (path[0] === 'openapi' && path[2] === 'auth' && !AUTH_WORDS.has(member)) ||
    (path[2] === 'env' && (isSecretName(member) || withoutScheme(text) !== text));
  return isSecret && !isWord(text) ? [text, withoutScheme(text)] : [];
};

// Their values stand in answers as often as not.
const PUBLIC_HEADERS =
  /^(?:accept(?:-.*)?|cache-control|content-type|content-language|user-agent|origin|host|.*-version|x-request-id)$/i;
// What says how a credential is sent, not what it is.
const AUTH_WORDS: ReadonlySet<string> = new Set(['type', 'in', 'name']);

// Alone in its text or beside a secret, a variable may be anything; by its name and its look most that are none are known.
const toVariableSecrets = ({ variables }: ConfigText, isSecretName: IsSecretName): readonly string[] =>
  variables.filter(({ name, value }) => isSecretName(name) || !isPlain(value)).map(({ value }) => value);

const isPlain = (value: string): boolean => isWord(value) || PLAIN.some((plain) => plain.test(value));

const isWord = (value: string): boolean =>
  /^(?:true|false|null|none|enabled|disabled|anonymous|\d{1,10})$/i.test(value);

const PLAIN: readonly RegExp[] = [
  // An address: what is secret in it is found by itself.
  /^[a-z][a-z0-9+.-]*:\/\//i,
  // A path.
  /^(?:~|\.{1,2})?\//,
  // A host, with its port.
  /^(?:localhost|(?:[a-z0-9-]+\.)+[a-z]{2,}|\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?$/i,
  // Words: production, eu-central-1.
  /^[a-z]+(?:[-_. ](?:[a-z]+|\d{1,2}))*$/i,
  // A date, a version.
  /^v?\d{1,4}(?:[.-]\d{1,4}){1,3}$/,
];

/** A secret with and without its prefix, for both are written; and the query of a URL, which is a credential more often than not. */
const toWebhookSecrets = ({ path: [section, , member], text }: ConfigText): readonly string[] => {
  if (section !== 'webhooks') return [];
  if (member === 'secret') return [text, text.replace(/^whsec_/, '')].filter((secret) => secret.length > 8);
  const query = member === 'url' && URL.canParse(text) ? [...new URL(text).searchParams.values()] : [];
  return query.filter((value) => !isPlain(value));
};

/** The password of an address, and what its query gives as a key or a token. */
const toAddressSecrets = (text: string): readonly string[] => {
  const query = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && URL.canParse(text) ? [...new URL(text).searchParams] : [];
  return [...toCredentials(text), ...query.filter(([name]) => SECRET_WORD.test(name)).map(([, value]) => value)];
};

const SECRET_WORD = /key|secret|token|password|credential/i;
const SECRET_ARGUMENT = /^--?[\w-]*(?:key|secret|token|password|credential)[\w-]*(?:=([\s\S]+))?$/i;

/** `--token=…`, the argument after `--token`, `NAME=…` as variables are given, `Header: …`, and `Bearer …` anywhere. */
const toArgumentSecrets = (
  { path, text }: ConfigText,
  before: ConfigText | undefined,
  isSecretName: IsSecretName,
): readonly string[] => {
  if (path.at(-2) !== 'args') return [];
  const flag = before?.path.at(-2) === 'args' ? before.text : '';
  const [, value = ''] = SECRET_ARGUMENT.exec(text) ?? [];
  const follows = isBareSecretArgument(flag) && !text.startsWith('-') ? text : '';
  return [
    ...[value, follows].filter((secret) => !isPlain(secret)),
    ...toAssignedSecrets(text, isSecretName),
    ...toHeaderSecrets(text, flag),
    ...[...text.matchAll(SCHEMES)].flatMap(([, credential = '']) => (isPlain(credential) ? [] : [credential])),
  ].filter((secret) => secret !== '');
};

const isBareSecretArgument = (text: string): boolean => SECRET_ARGUMENT.test(text) && !text.includes('=');

// GITHUB_TOKEN=…, --env=GITHUB_TOKEN=…, -eGITHUB_TOKEN=…, -Dservice.password=…
const ASSIGNMENT = /^(?:--?[\w-]+=|-[A-Za-z])?([A-Za-z_][\w.-]*)=([\s\S]+)$/;

const toAssignedSecrets = (text: string, isSecretName: IsSecretName): readonly string[] => {
  const [, name = '', value = ''] = ASSIGNMENT.exec(text) ?? [];
  const isSecret = isSecretName(name) ? !isWord(value) : SECRET_WORD.test(name) && !isPlain(value);
  return isSecret ? [value] : [];
};

// The flag is in the argument before, or in this one.
const HEADER_FLAG = /^(?:-H|--?headers?)$/i;
const HEADER = /^(-H|--?headers?[= ])?\s*([!#$%&'*+.^_`|~\w-]+):(\s*)(\S[\s\S]*)$/i;

const toHeaderSecrets = (text: string, flagBefore: string): readonly string[] => {
  const [, flag = '', name = '', space = '', value = ''] = HEADER.exec(text) ?? [];
  const isHeader = flag !== '' || HEADER_FLAG.test(flagBefore);
  if (name === '' || PUBLIC_HEADERS.test(name) || (!isHeader && space === '')) return [];
  return (isHeader ? isWord(value) : isPlain(value)) ? [] : [value, withoutScheme(value)];
};

// The schemes of HTTP whose credentials are one word.
const SCHEMES = /\b(?:Bearer|Basic|Token|ApiKey|DPoP|Negotiate)\s+([^\s"',;]+)/gi;
