import { isRecord, type JsonRecord, recordAt, textAt } from '../document/json-record.ts';
import type { OpenApiAuth } from './openapi-import-settings.ts';

// Set by the client, or never by anyone (OpenAPI: "Accept, Content-Type or Authorization … shall be ignored").
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...['accept', 'accept-encoding', 'authorization', 'connection', 'content-length', 'content-type', 'cookie', 'expect'],
  ...['host', 'http2-settings', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'user-agent', 'via'],
  ...['cookie2', 'set-cookie', 'set-cookie2'],
  ...['traceparent', 'tracestate', 'baggage', 'forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'],
]);

/** `header x-api-key`: headers are the same in any case, the others are not. */
const toPlaceKey = (place: string, name: string): string =>
  `${place} ${place === 'header' ? name.toLowerCase() : name}`;

/** The parameters that carry credentials: those that the settings fill, and those that the document calls API keys. */
export const toCredentialKeys = (root: JsonRecord, auth: OpenApiAuth | undefined): ReadonlySet<string> => {
  const schemes = Object.values(recordAt(recordAt(root, 'components'), 'securitySchemes')).filter(isRecord);
  const documented = schemes
    .filter((scheme) => scheme['type'] === 'apiKey')
    .map((scheme) => toPlaceKey(textAt(scheme, 'in') ?? '', textAt(scheme, 'name') ?? ''));
  return new Set([...documented, ...toFilledKeys(auth)]);
};

const toFilledKeys = (auth: OpenApiAuth | undefined): readonly string[] => {
  switch (auth?.type) {
    case 'apiKey':
      return [toPlaceKey(auth.in, auth.name)];
    case 'headers':
      return Object.keys(auth.headers).map((name) => toPlaceKey('header', name));
    default:
      return [];
  }
};

/** Whether a parameter is none of the model's business: credentials, or what the client itself writes. */
export const isWithheld = (place: string, name: string, credentials: ReadonlySet<string>): boolean =>
  credentials.has(toPlaceKey(place, name)) || (place === 'header' && isOwnHeader(name.toLowerCase()));

const isOwnHeader = (name: string): boolean => OWN_HEADERS.has(name) || name.startsWith('proxy-');
