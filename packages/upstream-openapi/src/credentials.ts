import type { OpenApiAuth } from './openapi-import-settings.ts';
import { type Pair, percentEncode } from './written-values.ts';

const encodeBasic = (username: string, password: string): string =>
  Buffer.from(`${username}:${password}`).toString('base64');

const toHeaders = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** What the settings add to each request: headers by lower-case name, and pairs as a query and a cookie have them. */
export const createCredentials = (auth: OpenApiAuth | undefined) => {
  const nothing = { headers: toHeaders({}), query: [] as readonly Pair[], cookies: [] as readonly Pair[] };
  switch (auth?.type) {
    case undefined:
      return nothing;
    case 'bearer':
      return { ...nothing, headers: toHeaders({ authorization: `Bearer ${auth.token}` }) };
    case 'basic':
      return {
        ...nothing,
        headers: toHeaders({ authorization: `Basic ${encodeBasic(auth.username, auth.password)}` }),
      };
    case 'headers':
      return { ...nothing, headers: toHeaders(auth.headers) };
    case 'apiKey': {
      const { name, value } = auth;
      if (auth.in === 'header') return { ...nothing, headers: toHeaders({ [name]: value }) };
      if (auth.in === 'cookie') return { ...nothing, cookies: [[name, value] as const] };
      return { ...nothing, query: [[percentEncode(name), percentEncode(value)] as const] };
    }
  }
};

const listSecrets = (auth: OpenApiAuth | undefined): readonly string[] => {
  switch (auth?.type) {
    case undefined:
      return [];
    case 'bearer':
      return [auth.token];
    case 'apiKey':
      return [auth.value];
    case 'basic':
      return [auth.password, encodeBasic(auth.username, auth.password)];
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
  const secrets = [...new Set(listSecrets(auth))].filter((secret) => secret.length >= Math.max(least, 1));
  const forms = secrets
    .toSorted((a, b) => b.length - a.length)
    .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]);
  const unique = [...new Set(forms)];
  return (text) => unique.reduce((rest, form) => rest.replaceAll(form, '[redacted]'), text);
};
