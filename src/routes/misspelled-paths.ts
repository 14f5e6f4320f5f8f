import type { FastifyInstance } from 'fastify';
import { findNearestNames } from '../contract/nearest-names.ts';

// What other services call it. Each is told of as far as it is served here.
const OTHER_WORDS: Readonly<Record<string, readonly string[]>> = {
  '/live /ready': ['health', 'healthz', 'healthcheck', 'status', 'ping'],
  '/live': ['livez', 'liveness'],
  '/ready': ['readyz', 'readiness'],
  '/docs': ['swagger', 'redoc', 'api-docs', 'documentation'],
  '/openapi.json': ['openapi', 'openapi.yaml', 'swagger.json'],
  '/console': ['ui', 'dashboard', 'admin'],
  '/tool-calls': ['call', 'calls', 'execute', 'tool', 'invoke', 'run'],
  '/sessions/:id': ['session', 'sessions'],
};

const METHODS = { '/tool-calls': 'POST', '/mcp': 'POST' } as const;
const PATHS = [
  ...['/tool-calls', '/tools', '/sessions/:id', '/mcp', '/live', '/ready', '/metrics', '/openapi.json', '/docs'],
  '/console',
];

const LONGEST = 80;

/** ` Did you mean GET /live?` for a path that nothing is at; "" where nothing near is served. */
export const toPathHint = (app: FastifyInstance, url: string): string => {
  const path = url.split('?', 1)[0] ?? '';
  if (path.length > LONGEST) return '';
  const served = findMeant(path.toLowerCase()).filter((known) => app.hasRoute({ url: known, method: methodOf(known) }));
  return served.length === 0 ? '' : ` Did you mean ${served.map(toText).join(' or ')}?`;
};

const methodOf = (path: string): 'GET' | 'POST' => Reflect.get(METHODS, path) ?? 'GET';
const toText = (path: string): string => `${methodOf(path)} ${path.replace(':id', '{id}')}`;

const findMeant = (path: string): readonly string[] => {
  // A prefix that other interfaces have, and a slash too many.
  const [word = '', ...more] = path
    .replace(/^\/(?:api\/)?(?:v\d+\/)?/, '')
    .split('/')
    .filter((part) => part !== '');
  const name = word.replaceAll('_', '-');
  const other = Object.keys(OTHER_WORDS).find((paths) => OTHER_WORDS[paths]?.includes(name));
  if (other !== undefined) return other.split(' ');
  const [near] = findNearestNames(name, PATHS.map(toName), 1);
  const known = PATHS.find((candidate) => toName(candidate) === near);
  return known === undefined || (more.length > 0 && !known.includes(':')) ? [] : [known];
};

const toName = (path: string): string => path.split('/')[1] ?? '';
