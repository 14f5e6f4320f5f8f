import type { AddressInfo } from 'node:net';
import { ANY_READINGS, NO_STREAMS } from '@recourse/test-support/any-readings.ts';
import fastify from 'fastify';
import type { Caller } from 'recourse-server/internal/auth/callers.ts';
import type { ToolDescription } from 'recourse-server/internal/contract/tool-description.ts';
import type { BatchAnswer, BatchRequest } from 'recourse-server/internal/executor/batch-request.ts';
import type { MemoryLease } from 'recourse-server/internal/memory/byte-budget.ts';
import { addJsonBodyParser } from 'recourse-server/internal/routes/body-parsers.ts';
import { addProblemHandler } from 'recourse-server/internal/routes/problem-handler.ts';
import { addRequestGate, callerOf } from 'recourse-server/internal/routes/request-gate.ts';
import type { RouteHost } from 'recourse-server/internal/routes/route-host.ts';
import { watchRequests } from 'recourse-server/internal/routes/watch-requests.ts';
import { onTestFinished } from 'vitest';
import { addMcpRoute } from '#src/mcp-route.ts';

/** Who may do everything. */
export const ANYONE: Caller = {
  tenant: 'a',
  key: 'ci',
  id: 'caller',
  rateKey: 'ci',
  rate: null,
  tools: 'all',
  mayUse: () => true,
  may: () => true,
};

/** The memory for requests when nothing more fits. */
const FULL: MemoryLease = {
  take: () => false,
  fit: () => true,
  beside: () => FULL,
  add: () => undefined,
  give: () => undefined,
  set: () => undefined,
  retain: () => undefined,
  release: () => undefined,
};

type RouteOptions = Partial<Pick<RouteHost, 'endSession' | 'findTool' | 'pendingTasks'>> & {
  readonly executeBatch?: (batch: BatchRequest) => Promise<BatchAnswer>;
  readonly tools?: readonly ToolDescription[];
  readonly hasRoom?: boolean;
  /** Who comes with a credential; left out: always the same. */
  readonly toCaller?: (credential: string | undefined) => Caller;
};

/** The route alone on a real socket, before an executor and a store that end as the test says; closed when the test ends. */
export const startRoute = async (options: RouteOptions) => {
  const { close, ...route } = await openRoute(options);
  onTestFinished(close);
  return route;
};

export const openRoute = async ({
  executeBatch = () => Promise.reject(new Error('no executor')),
  endSession = () => Promise.resolve(),
  findTool = () => undefined,
  pendingTasks,
  tools = [],
  hasRoom = true,
  toCaller = () => ANYONE,
}: RouteOptions) => {
  const bugs: unknown[] = [];
  const onBug = (error: unknown): void => void bugs.push(error);
  const app = fastify();
  addJsonBodyParser(app);
  addProblemHandler(app, onBug);
  watchRequests(app, { now: () => 0, onResponse: () => undefined });
  addRequestGate(app, {
    authenticate: (credential) => ({ kind: 'known', caller: toCaller(credential) }),
    mayComeFrom: () => true,
    isDraining: () => false,
    shed: () => null,
    ...(hasRoom ? {} : { holdRequest: () => FULL }),
    createId: () => 'id',
  });
  addMcpRoute(app, {
    executeBatch,
    endSession,
    isUnavailable: (error) => error instanceof Error && error.message === 'away',
    describeTools: () => tools,
    watchTools: () => () => undefined,
    draining: new AbortController().signal,
    readings: ANY_READINGS,
    streams: NO_STREAMS,
    findTool,
    pendingTasks,
    defaultSession: 'none',
    endedSessions: { add: () => undefined, has: () => false },
    toSessionKey: (tenant, id) => `${tenant}:${id}`,
    toRecordKey: (tenant, key) => `${tenant}:${key}`,
    toRequestKey: (tenant, id) => `${tenant}:${id}`,
    createId: () => 'id',
    maxDeadlineMs: 1000,
    version: '1',
    keepAliveMs: 20,
    callerOf,
    tellRefused: () => undefined,
    bodyOf: () => undefined,
    onBug,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address: AddressInfo | string | null = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('The route has no port.');
  return { url: `http://127.0.0.1:${address.port}`, bugs, close: () => app.close() };
};
