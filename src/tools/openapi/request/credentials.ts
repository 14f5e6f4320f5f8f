import type { OpenApiAuth } from '../operation/openapi-import-settings.ts';
import type { Pair } from './style-parameter.ts';

/** What the settings add to each request. */
export type Credentials = {
  /** Lower-case name → value. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: readonly Pair[];
  readonly cookies: readonly Pair[];
};

const NOTHING: Credentials = { headers: {}, query: [], cookies: [] };

const toBasic = (username: string, password: string): string =>
  Buffer.from(`${username}:${password}`).toString('base64');

export const toCredentials = (auth: OpenApiAuth | undefined): Credentials => {
  switch (auth?.type) {
    case undefined:
      return NOTHING;
    case 'bearer':
      return { ...NOTHING, headers: { authorization: `Bearer ${auth.token}` } };
    case 'basic':
      return { ...NOTHING, headers: { authorization: `Basic ${toBasic(auth.username, auth.password)}` } };
    case 'headers':
      return {
        ...NOTHING,
        headers: Object.fromEntries(Object.entries(auth.headers).map(([name, value]) => [name.toLowerCase(), value])),
      };
    case 'apiKey':
      return toApiKey(auth);
  }
};

const toApiKey = ({ in: place, name, value }: Extract<OpenApiAuth, { type: 'apiKey' }>): Credentials => {
  switch (place) {
    case 'header':
      return { ...NOTHING, headers: { [name.toLowerCase()]: value } };
    case 'query':
      return { ...NOTHING, query: [[name, value]] };
    case 'cookie':
      return { ...NOTHING, cookies: [[name, value]] };
  }
};

/** Every secret text of the settings, as it is and as it is sent, longest first. */
export const secretsOf = (auth: OpenApiAuth | undefined): readonly string[] => {
  const texts = toSecretTexts(auth).filter((text) => text !== '');
  return [...new Set(texts)].toSorted((a, b) => b.length - a.length);
};

const toSecretTexts = (auth: OpenApiAuth | undefined): readonly string[] => {
  switch (auth?.type) {
    case undefined:
      return [];
    case 'bearer':
      return [auth.token];
    case 'apiKey':
      return [auth.value];
    case 'basic':
      return [auth.password, toBasic(auth.username, auth.password)];
    case 'headers':
      // `Token abc`: the word before is no secret, what follows it is one by itself.
      return Object.values(auth.headers).flatMap((value) => [value, value.split(/\s+/).at(-1) ?? value]);
  }
};

/**
 * Takes the secrets of the settings, also as URLs and JSON spell them, out of a text: an API that echoes what it was
 * sent must not hand them to a model. Those of fewer than `least` characters stay: they are parts of other words.
 */
export const createSecretRemover = (auth: OpenApiAuth | undefined, least: number): ((text: string) => string) => {
  const forms = secretsOf(auth)
    .filter((secret) => secret.length >= least)
    .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]);
  const unique = [...new Set(forms)];
  return (text) => unique.reduce((rest, form) => rest.replaceAll(form, '[redacted]'), text);
};
