import type { ConfigText } from 'recourse-server/config/file/expand-variables';
import { toPathText } from 'recourse-server/config/file/mistakes';
import { type NamedSecret, toCredentials, withoutScheme } from 'recourse-server/config/secrets';

/** SECRETS_ENV: whether what is called so is secret. */
type IsSecretName = (name: string) => boolean;

/**
 * What must not be seen of a configuration file: values of headers and of `auth`, secrets of webhooks and queries of their
 * addresses, values of an `env` whose names say so or that are credentials, variables that are no plain word, credentials in addresses, and what arguments give as a token, a
 * secret variable, a header or a credential.
 */
export const findFileSecrets = (texts: readonly ConfigText[], isSecretName: IsSecretName): readonly NamedSecret[] =>
  texts.flatMap((text, place) => {
    const name = toPathText(text.path);
    const values = [
      ...findPlaceSecrets(text, isSecretName),
      ...findVariableSecrets(text, isSecretName),
      ...findAddressSecrets(text.text),
      ...findWebhookSecrets(text),
      ...findArgumentSecrets(text, texts[place - 1], isSecretName),
    ];
    return [...new Set(values)].map((value) => ({ name, value }));
  });

const findPlaceSecrets = ({ path, text }: ConfigText, isSecretName: IsSecretName): readonly string[] => {
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
const findVariableSecrets = ({ variables }: ConfigText, isSecretName: IsSecretName): readonly string[] =>
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
const findWebhookSecrets = ({ path: [section, , member], text }: ConfigText): readonly string[] => {
  if (section !== 'webhooks') return [];
  if (member === 'secret') return [text, text.replace(/^whsec_/, '')].filter((secret) => secret.length > 8);
  const query = member === 'url' && URL.canParse(text) ? [...new URL(text).searchParams.values()] : [];
  return query.filter((value) => !isPlain(value));
};

/** The password of an address, and what its query gives as a key or a token. */
const findAddressSecrets = (text: string): readonly string[] => {
  const query = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && URL.canParse(text) ? [...new URL(text).searchParams] : [];
  return [...toCredentials(text), ...query.filter(([name]) => SECRET_WORD.test(name)).map(([, value]) => value)];
};

const SECRET_WORD = /key|secret|token|password|credential/i;
const SECRET_ARGUMENT = /^--?[\w-]*(?:key|secret|token|password|credential)[\w-]*(?:=([\s\S]+))?$/i;

/** `--token=…`, the argument after `--token`, `NAME=…` as variables are given, `Header: …`, and `Bearer …` anywhere. */
const findArgumentSecrets = (
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
    ...findAssignedSecrets(text, isSecretName),
    ...findHeaderSecrets(text, flag),
    ...[...text.matchAll(SCHEMES)].flatMap(([, credential = '']) => (isPlain(credential) ? [] : [credential])),
  ].filter((secret) => secret !== '');
};

const isBareSecretArgument = (text: string): boolean => SECRET_ARGUMENT.test(text) && !text.includes('=');

// GITHUB_TOKEN=…, --env=GITHUB_TOKEN=…, -eGITHUB_TOKEN=…, -Dservice.password=…
const ASSIGNMENT = /^(?:--?[\w-]+=|-[A-Za-z])?([A-Za-z_][\w.-]*)=([\s\S]+)$/;

const findAssignedSecrets = (text: string, isSecretName: IsSecretName): readonly string[] => {
  const [, name = '', value = ''] = ASSIGNMENT.exec(text) ?? [];
  const isSecret = isSecretName(name) ? !isWord(value) : SECRET_WORD.test(name) && !isPlain(value);
  return isSecret ? [value] : [];
};

// The flag is in the argument before, or in this one.
const HEADER_FLAG = /^(?:-H|--?headers?)$/i;
const HEADER = /^(-H|--?headers?[= ])?\s*([!#$%&'*+.^_`|~\w-]+):(\s*)(\S[\s\S]*)$/i;

const findHeaderSecrets = (text: string, flagBefore: string): readonly string[] => {
  const [, flag = '', name = '', space = '', value = ''] = HEADER.exec(text) ?? [];
  const isHeader = flag !== '' || HEADER_FLAG.test(flagBefore);
  if (name === '' || PUBLIC_HEADERS.test(name) || (!isHeader && space === '')) return [];
  return (isHeader ? isWord(value) : isPlain(value)) ? [] : [value, withoutScheme(value)];
};

// The schemes of HTTP whose credentials are one word.
const SCHEMES = /\b(?:Bearer|Basic|Token|ApiKey|DPoP|Negotiate)\s+([^\s"',;]+)/gi;
