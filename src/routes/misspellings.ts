import type { FastifyInstance } from 'fastify';
import { findNearestNames } from '../contract/nearest-names.ts';
import type { Warning } from '../contract/tool-result.ts';
import { ProblemError } from './problems.ts';

/** Everything that the envelope of POST /tool-calls may hold. In the query all but `calls` may stand as well. */
const ENVELOPE: ReadonlySet<string> = new Set(
  'session_id round_id calls order on_error deadline_ms idempotency dry_run format raw'.split(' '),
);

// Words of other interfaces for the same thing, too far away to be found by their letters.
const OTHER_MEMBERS: ReadonlyMap<string, string> = new Map([
  ['timeout', 'deadline_ms'],
  ['timeoutms', 'deadline_ms'],
  ['turnid', 'round_id'],
]);

const squeeze = (name: string): string => name.toLowerCase().replace(/[^a-z]/g, '');
const BY_LETTERS: ReadonlyMap<string, string> = new Map([...ENVELOPE].map((name) => [squeeze(name), name]));

// A body may have thousands of members, each as long as it likes.
const MOST_LOOKED_AT = 16;
const MOST_LETTERS = 40;

/** Where a member stands. The message of a provider has members of its own, which may be spelled nearly like ours. */
type Place = 'envelope' | 'message' | 'query';

const findMember = (name: string, place: Place, members: object): string | null => {
  const meant = name.length > MOST_LETTERS ? null : findNear(squeeze(name), place);
  if (meant === 'calls' && place !== 'envelope') return null;
  // Beside the one that it is near, it is something else.
  return meant === null || Object.hasOwn(members, meant) ? null : meant;
};

const findNear = (letters: string, place: Place): string | null => {
  const same = BY_LETTERS.get(letters) ?? null;
  if (same !== null || place === 'message') return same;
  const [near] = findNearestNames(letters, BY_LETTERS.keys(), 1);
  return BY_LETTERS.get(near ?? '') ?? OTHER_MEMBERS.get(letters) ?? null;
};

/** A warning for each unknown member that is near one that is known: `sessionId`, `sesion_id`. Others are not spoken of. */
export const findMisspelledMembers = (members: Readonly<Record<string, unknown>>, place: Place): readonly Warning[] => {
  const warnings: Warning[] = [];
  let looked = 0;
  for (const name in members) {
    if (ENVELOPE.has(name)) continue;
    looked += 1;
    if (looked > MOST_LOOKED_AT) break;
    const meant = findMember(name, place, members);
    if (meant !== null)
      warnings.push(createWarning(place === 'query' ? `'${name}' of the query` : `'${name}'`, `'${meant}'`));
  }
  return warnings;
};

// Proxies drop names with an underscore, and Node leaves them as they are.

/** The same for a header that was meant to be Idempotency-Key, where that itself is not there. */
export const findMisspelledHeaders = (headers: Readonly<Record<string, unknown>>): readonly Warning[] => {
  if (headers['idempotency-key'] !== undefined) return [];
  if (headers['x-idempotency-key'] !== undefined) return [warnOfHeader('X-Idempotency-Key')];
  return headers['idempotency_key'] === undefined ? [] : [warnOfHeader('Idempotency_Key')];
};

const warnOfHeader = (header: string): Warning => createWarning(`The header ${header}`, 'Idempotency-Key');

const createWarning = (what: string, meant: string): Warning => ({
  code: 'unknown_member',
  message: `${what} is unknown and was ignored. Did you mean ${meant}?`,
});

// What other services call it. Each is told of as far as it is served here.
const OTHER_PATHS: Readonly<Record<string, readonly string[]>> = {
  '/live /ready': ['health', 'healthz', 'healthcheck', 'status', 'ping'],
  '/live': ['livez', 'liveness'],
  '/ready': ['readyz', 'readiness'],
  '/docs': ['swagger', 'redoc', 'api-docs', 'documentation'],
  '/openapi.json': ['openapi', 'openapi.yaml', 'swagger.json'],
  '/console': ['ui', 'dashboard', 'admin'],
  '/tool-calls': ['call', 'calls', 'execute', 'tool', 'invoke', 'run'],
  '/sessions/:id': ['session', 'sessions'],
};

const PATHS = [
  ...['/tool-calls', '/tools', '/sessions/:id', '/mcp', '/live', '/ready', '/metrics', '/openapi.json', '/docs'],
  '/console',
];

const LONGEST = 80;

/** ` Did you mean GET /live?` for a path that nothing is at; "" where nothing near is served. */
export const describeNearPaths = (app: FastifyInstance, url: string): string => {
  const path = url.split('?', 1)[0] ?? '';
  if (path.length > LONGEST) return '';
  const served = findPaths(path.toLowerCase()).filter((url) => app.hasRoute({ url, method: methodOf(url) }));
  return served.length === 0 ? '' : ` Did you mean ${served.map(describePath).join(' or ')}?`;
};

const methodOf = (path: string): 'GET' | 'POST' => (path === '/tool-calls' || path === '/mcp' ? 'POST' : 'GET');
const describePath = (path: string): string => `${methodOf(path)} ${path.replace(':id', '{id}')}`;

const findPaths = (path: string): readonly string[] => {
  // A prefix that other interfaces have, and a slash too many.
  const [word = '', ...more] = path
    .replace(/^\/(?:api\/)?(?:v\d+\/)?/, '')
    .split('/')
    .filter((part) => part !== '');
  const name = word.replaceAll('_', '-');
  const other = Object.keys(OTHER_PATHS).find((paths) => OTHER_PATHS[paths]?.includes(name));
  if (other !== undefined) return other.split(' ');
  const [near] = findNearestNames(name, PATHS.map(readName), 1);
  const known = PATHS.find((candidate) => readName(candidate) === near);
  return known === undefined || (more.length > 0 && !known.includes(':')) ? [] : [known];
};

const readName = (path: string): string => path.split('/')[1] ?? '';

// By other names: of the company, the model, or the interface.
const OTHER_FORMATS: Readonly<Record<string, string>> = {
  claude: 'anthropic',
  google: 'gemini',
  vertex: 'gemini',
  aws: 'bedrock',
  converse: 'bedrock',
  vercel: 'ai-sdk',
  aisdk: 'ai-sdk',
  recourse: 'native',
  chat: 'openai-chat',
  responses: 'openai-responses',
  realtime: 'openai-realtime',
};

/** Refuses a format that is none of these, and says which was meant where that can be told. */
export const refuseFormat = (named: unknown, formats: readonly string[]): ProblemError => {
  const meant = typeof named === 'string' && named.length <= 40 ? findFormats(named.toLowerCase(), formats) : [];
  const question = meant.length === 0 ? '' : ` Did you mean ${meant.join(' or ')}?`;
  return new ProblemError(400, 'unknown_format', `format must be one of ${formats.join(', ')}.${question}`);
};

const findFormats = (named: string, formats: readonly string[]): readonly string[] => {
  const other = OTHER_FORMATS[named];
  if (other !== undefined) return formats.filter((format) => format === other);
  const family = named === '' ? [] : formats.filter((format) => format.startsWith(`${named}-`));
  return family.length > 0 ? family : findNearestNames(named, formats, 1);
};
