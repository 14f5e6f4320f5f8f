import fc from 'fast-check';
import type { FuzzHeaders, FuzzRequest } from './openapi-requests.ts';

/** One thing that is done to a request. `at` picks among what there is to pick, `junk` is put somewhere. */
export type Mutation = { readonly kind: Kind; readonly at: number; readonly junk: unknown };

type Mutate = (request: FuzzRequest, mutation: Mutation) => FuzzRequest;

const pick = <Item>(items: readonly [Item, ...Item[]], at: number): Item => items[at % items.length] ?? items[0];

const withHeaders = (request: FuzzRequest, headers: FuzzHeaders): FuzzRequest => ({
  ...request,
  headers: { ...request.headers, ...headers },
});

const BODY_TYPES = [
  'text/plain',
  'application/xml',
  'application/json; charset=utf-16',
  'application/json; charset="utf-8"',
  'application/json;;;',
  'application/jsonx',
  'multipart/form-data; boundary=x',
  'APPLICATION/JSON',
  ' ',
  '/',
  'application/problem+json',
] as const;

const ENCODINGS = ['gzip', 'br', 'identity', 'deflate, gzip', 'x'] as const;

const HEADERS: readonly [FuzzHeaders, ...FuzzHeaders[]] = [
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { origin: 'http://localhost:3000' },
  { 'sec-fetch-site': 'cross-site' },
  { host: 'evil.example' },
  { host: '' },
  { 'x-forwarded-for': '10.0.0.1', 'x-forwarded-host': 'evil.example' },
  { traceparent: '00-00000000000000000000000000000000-0000000000000000-01' },
  { traceparent: 'junk'.repeat(100) },
  { expect: '200-ok' },
  { expect: '100-continue' },
  { upgrade: 'websocket', connection: 'upgrade' },
  { 'transfer-encoding': 'chunked' },
  { 'transfer-encoding': 'gzip' },
  { 'content-length': '-1' },
  { 'content-length': '99999999999999999999' },
  { 'content-length': '3' },
  { accept: 'image/png' },
  { 'x-request-id': '../../etc/passwd' },
  { 'x-request-id': 'x'.repeat(65) },
  { 'idempotency-key': 'x'.repeat(300) },
  { 'idempotency-key': '"' },
  { 'idempotency-key': 'sch\u00f6n' },
  { 'x-long': 'x'.repeat(20_000) },
  { 'x-control': 'a\u0001b' },
  { 'x-null': 'a\u0000b' },
  { 'bad name': 'x' },
  { constructor: 'x', tostring: 'x' },
];

const METHODS = [
  ...(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'] as const),
  ...(['PROPFIND', 'QUERY', 'CONNECT', 'FOO', 'get', 'G\u0000T', ''] as const),
] as const;

const PATHS: readonly [(path: string) => string, ...((path: string) => string)[]] = [
  (path) => `${path}/`,
  (path) => `/${path}`,
  (path) => `${path}?a=1&a=2&__proto__[x]=1`,
  (path) => `${path}?${'%'.repeat(10)}`,
  (path) => `${path}#fragment`,
  (path) => `${path};version=1`,
  (path) => `${path}%`,
  (path) => `${path}%zz`,
  (path) => `${path}%00`,
  (path) => `${path}%C3%28`,
  (path) => `${path}%ff`,
  (path) => `${path}%2f..%2f..`,
  (path) => `${path}/../live`,
  (path) => `${path}/x/y/z`,
  (path) => `${path}${'x'.repeat(1100)}`,
  (path) => `${path}${'x'.repeat(20_000)}`,
  (path) => `${path}\u00e9`,
  (path) => `${path} x`,
  (path) => path.toUpperCase(),
  (path) => path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  (path) => `http://127.0.0.1${path}`,
  (path) => path.slice(1),
  () => '*',
  () => '/',
  () => '/__proto__',
  () => '/sessions/constructor/budgets/__proto__',
];

// Texts that JSON.stringify never writes.
const RAW_VALUES = [
  '1e400',
  '-0',
  '12345678901234567890123',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '"\\ud800"',
  '"\\u0000\\u001b[31m\\r\\n"',
  '[[[[[[[[[[]]]]]]]]]]',
  '{"a":1,"a":2}',
  'NaN',
  'undefined',
  "'x'",
] as const;

const BODIES: readonly [
  (body: string) => string | Uint8Array | null,
  ...((body: string) => string | Uint8Array | null)[],
] = [
  () => null,
  () => '',
  () => '   ',
  () => 'null',
  () => '[]',
  () => '{}',
  () => '{"calls":[]}',
  () => `{"calls":${'['.repeat(5000)}${']'.repeat(5000)}}`,
  () => `{"calls":[{"name":"echo","arguments":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}]}`,
  () => `{"calls":[${'1,'.repeat(1100)}1]}`,
  () => `{"calls":[{"name":"echo","arguments":{"text":"${'x'.repeat(OVERSIZED)}"}}]}`,
  (body) => body.slice(0, body.length >> 1),
  (body) => `${body}${body}`,
  (body) => `\ufeff${body}`,
  (body) => Buffer.from(`${body}`, 'utf16le'),
  (body) => Buffer.concat([Buffer.from(body), Buffer.from([0xff, 0xfe])]),
  (body) => body.replaceAll('"', "'"),
  (body) => `/* */${body}`,
];

/** More than the service of the test takes. */
const OVERSIZED = 70_000;

const textOf = (request: FuzzRequest): string => String(request.body ?? '');

/** Puts `value` in the place of one value of a JSON text: whatever follows a colon, or stands in a list. */
const replaceValue = (body: string, value: string, at: number): string => {
  const places = [...body.matchAll(/(?<=[:[,])("(?:[^"\\]|\\.)*"|-?\d[\d.e+-]*|true|false|null)/g)];
  const place = places[at % Math.max(1, places.length)];
  if (place === undefined) return body;
  return `${body.slice(0, place.index)}${value}${body.slice(place.index + place[0].length)}`;
};

const mutateKey = (request: FuzzRequest, { at, junk }: Mutation): FuzzRequest => {
  const { authorization: _bearer, 'x-api-key': _key, ...headers } = request.headers;
  const text = encodeURIComponent(JSON.stringify(junk)).slice(0, 200);
  const keys: readonly [FuzzHeaders, ...FuzzHeaders[]] = [
    {},
    { authorization: `Bearer ${text}` },
    { authorization: 'Bearer' },
    { authorization: 'Basic dXNlcjpwYXNz' },
    { authorization: `Bearer ${'x'.repeat(8000)}` },
    { authorization: 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.' },
    { 'x-api-key': text },
    { 'x-api-key': '' },
    { 'x-api-key': '__proto__' },
  ];
  return { ...request, headers: { ...headers, ...pick(keys, at) } };
};

const MUTATORS = {
  method: (request, { at }) => ({ ...request, method: pick(METHODS, at) }),
  path: (request, { at }) => ({ ...request, target: pick(PATHS, at)(request.target) }),
  key: mutateKey,
  header: (request, { at }) => withHeaders(request, pick(HEADERS, at)),
  type: (request, { at }) => withHeaders(request, { 'content-type': pick(BODY_TYPES, at) }),
  encoding: (request, { at }) => withHeaders(request, { 'content-encoding': pick(ENCODINGS, at) }),
  body: (request, { at }) => ({ ...request, body: pick(BODIES, at)(textOf(request)) }),
  value: (request, { at, junk }) => ({ ...request, body: replaceValue(textOf(request), JSON.stringify(junk), at) }),
  rawValue: (request, { at }) => ({
    ...request,
    body: replaceValue(textOf(request), pick(RAW_VALUES, at), at >> 4),
  }),
  withoutMember: (request, { at }) => ({ ...request, body: renameMember(textOf(request), '"other"', at) }),
  oddMember: (request, { at, junk }) => ({
    ...request,
    body: renameMember(
      textOf(request),
      pick(['"__proto__"', '"constructor"', JSON.stringify(JSON.stringify(junk))], at),
      at,
    ),
  }),
} as const satisfies Record<string, Mutate>;

export type Kind = keyof typeof MUTATORS;

const KINDS: readonly Kind[] = [
  ...(['method', 'path', 'key', 'header', 'type', 'encoding'] as const),
  ...(['body', 'value', 'rawValue', 'withoutMember', 'oddMember'] as const),
];

function renameMember(body: string, name: string, at: number): string {
  const places = [...body.matchAll(/"(?:[^"\\]|\\.)*"(?=:)/g)];
  const place = places[at % Math.max(1, places.length)];
  if (place === undefined) return body;
  return `${body.slice(0, place.index)}${name}${body.slice(place.index + place[0].length)}`;
}

export const mutations: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom(...KINDS),
  at: fc.nat(10_000),
  junk: fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.string({ unit: 'binary', maxLength: 300 })),
});

/** The request after all of them, in their order. */
export const mutate = (request: FuzzRequest, all: readonly Mutation[]): FuzzRequest =>
  all.reduce((so, mutation) => MUTATORS[mutation.kind](so, mutation), request);
