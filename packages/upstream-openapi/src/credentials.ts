import type { OpenApiAuth } from './openapi-import-settings.ts';
import type { Pair } from './written-values.ts';

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
  const withHeaders = (headers: readonly Pair[]): Credentials => ({
    ...NOTHING,
    headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])),
  });
  switch (auth?.type) {
    case undefined:
      return NOTHING;
    case 'bearer':
      return withHeaders([['authorization', `Bearer ${auth.token}`]]);
    case 'basic':
      return withHeaders([['authorization', `Basic ${toBasic(auth.username, auth.password)}`]]);
    case 'headers':
      return withHeaders(Object.entries(auth.headers));
    case 'apiKey': {
      const pairs: readonly Pair[] = [[auth.name, auth.value]];
      if (auth.in === 'header') return withHeaders(pairs);
      return auth.in === 'query' ? { ...NOTHING, query: pairs } : { ...NOTHING, cookies: pairs };
    }
  }
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
 * Takes the secrets of the settings, as they are and as they are sent, also as URLs and JSON spell them, out of a text: an
 * API that echoes what it was sent must not hand them to a model. Those of fewer than `least` characters stay: they are
 * parts of other words.
 */
export const createSecretRemover = (auth: OpenApiAuth | undefined, least: number): ((text: string) => string) => {
  const secrets = [...new Set(toSecretTexts(auth))].filter((secret) => secret.length >= Math.max(least, 1));
  const forms = secrets
    .toSorted((a, b) => b.length - a.length)
    .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]);
  const unique = [...new Set(forms)];
  return (text) => unique.reduce((rest, form) => rest.replaceAll(form, '[redacted]'), text);
};
