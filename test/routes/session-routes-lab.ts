import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dialects } from '@recourse/dialects';
import { ANY_READINGS } from '@recourse/test-support/any-readings.ts';
import fastify, { type FastifyInstance } from 'fastify';
import { onTestFinished } from 'vitest';
import type { Caller } from '#src/auth/callers.ts';
import type { SessionView } from '#src/contract/session.ts';
import { readResult } from '#src/executor/stored-result.ts';
import { addJsonBodyParser } from '#src/routes/body-parsers.ts';
import { addProblemHandler, refuseOtherMethods, sendHttpProblem } from '#src/routes/problem-handler.ts';
import { addRequestGate, type GateOptions } from '#src/routes/request-gate.ts';
import { addSessionsRoutes } from '#src/routes/sessions.ts';
import { addStoredResultsRoutes } from '#src/routes/stored-results.ts';
import { watchRequests } from '#src/routes/watch-requests.ts';

export const EMPTY_VIEW: SessionView = {
  session: {
    mode: 'memory',
    rounds: 0,
    max_rounds: null,
    calls: 0,
    max_calls: null,
    retries_used: 0,
    retries_limit: 20,
  },
  tools: [],
  slices: {},
  calls: [],
};

export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
};

export type Asking = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};

export type LabOptions = {
  /** What every question to the store ends with. */
  readonly storeFails?: Error;
  readonly isDraining?: () => boolean;
  /** Left out: the three keys of the lab. */
  readonly authenticate?: GateOptions['authenticate'];
  readonly results?: ReadonlyMap<string, readonly string[]> | 'unavailable';
  /** Hashes of sessions that lists of the tenant `acme` have. */
  readonly listed?: readonly string[];
  /** Adds further routes. */
  readonly addRoutes?: (app: FastifyInstance) => void;
};

const EVERYTHING: Omit<Caller, 'tenant'> = {
  key: 'ci',
  id: 'caller',
  rateKey: 'ci',
  rate: null,
  tools: 'all',
  mayUse: () => true,
  may: () => true,
};

const CALLERS: ReadonlyMap<string, Caller> = new Map([
  ['key-a', { ...EVERYTHING, tenant: 'a' }],
  ['key-b', { ...EVERYTHING, tenant: 'b' }],
  ['key-a-echo', { ...EVERYTHING, tenant: 'a', rateKey: 'echo', tools: 'some', mayUse: (tool) => tool === 'echo' }],
]);

const authenticate: GateOptions['authenticate'] = (credential = '') => {
  const caller = CALLERS.get(credential);
  return caller === undefined ? { kind: 'refused', reason: 'unknown' } : { kind: 'known', caller };
};

/**
 * The routes on a real socket, before a store that notes what it is asked. The keys `key-a` and `key-b` are two tenants;
 * `key-a-echo` may use `echo` alone.
 */
export const startSessionRoutes = async (options: LabOptions = {}) => {
  const asked: string[] = [];
  const bugs: unknown[] = [];
  const note = async (question: string): Promise<void> => {
    asked.push(question);
    if (options.storeFails !== undefined) throw options.storeFails;
  };
  const app = fastify({
    routerOptions: { maxParamLength: 1024 },
    frameworkErrors: (error, asking, reply) => void sendHttpProblem(asking, reply, error.statusCode ?? 400),
  });
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (payload) => JSON.stringify(payload));
  addJsonBodyParser(app);
  addProblemHandler(app, (error) => void bugs.push(error));
  watchRequests(app, { now: () => 0, onResponse: () => undefined });
  addRequestGate(app, {
    authenticate: options.authenticate ?? authenticate,
    mayComeFrom: () => true,
    isDraining: options.isDraining ?? (() => false),
    shed: () => null,
    createId: () => 'made-by-the-routes-lab',
  });
  addSessionsRoutes(app, {
    toSessionKey: (tenant, sessionId) => `${tenant}:${sessionId}`,
    readSession: async (key, mayUse) => {
      await note(`read ${key}${mayUse('read_file') ? '' : ' without read_file'}`);
      return EMPTY_VIEW;
    },
    findSessions: async (tenant, prefix) =>
      options.listed?.filter((hash) => tenant === 'acme' && hash.startsWith(prefix)) ?? [],
    endSession: (key) => note(`end ${key}`),
    resetBudgets: (key, tool) => note(`reset ${key} ${tool === null ? 'all' : `tool ${tool}`}`),
    isUnavailable: (error) => error instanceof Error && error.message === 'away',
  });
  addStoredResultsRoutes(app, {
    dialects,
    toRequestKey: (tenant, requestId) => `${tenant}:${requestId}`,
    findResults: async (_tenant, key) => {
      asked.push(`find ${key}`);
      if (options.results === 'unavailable') return 'unavailable';
      const results = options.results?.get(key)?.map(readResult);
      return results === undefined ? null : { results, isPromised: false };
    },
    answered: {
      read: async (_tenant, { results }) => ({ results, late: [] }),
      cancel: async () => undefined,
      follow: async () => [],
      watchParts: () => ({ watch: async () => undefined, watchResults: () => undefined, stop: () => undefined }),
    },
    streams: {
      heartbeatMs: 15_000,
      observer: { opened: () => undefined, closed: () => undefined, dropped: () => undefined },
    },
    readings: ANY_READINGS,
    toEntityTag: (body) => `"${body.length}"`,
  });
  options.addRoutes?.(app);
  refuseOtherMethods(app, '/sessions/:id', ['GET', 'HEAD', 'DELETE']);
  refuseOtherMethods(app, '/sessions/:id/budgets', ['DELETE']);
  refuseOtherMethods(app, '/sessions/:id/budgets/:tool', ['DELETE']);
  refuseOtherMethods(app, '/tool-calls/:request_id', ['GET', 'HEAD', 'DELETE']);
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    app.server.closeAllConnections();
    await app.close();
  });
  const port = portOf(app.server.address());
  return {
    asked: (): readonly string[] => asked,
    bugs: (): readonly unknown[] => bugs,
    ask: (path: string, asking: Asking = {}) => ask(port, path, asking),
  };
};

const portOf = (address: AddressInfo | string | null): number => {
  if (address === null || typeof address === 'string') throw new Error('The routes have no port.');
  return address.port;
};

// fetch mends paths; node:http sends them as they are.
const ask = (port: number, path: string, { method = 'GET', headers = {}, body = '' }: Asking): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const given = { 'x-api-key': 'key-a', ...headers };
    const asking = request({ host: '127.0.0.1', port, path, method, headers: given }, (answer) => {
      answer.setEncoding('utf8');
      answer
        .toArray()
        .then((chunks) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: chunks.join('') }))
        .catch(reject);
    });
    asking.on('error', reject);
    asking.end(body);
  });
