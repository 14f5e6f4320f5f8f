import type { FastifyInstance } from 'fastify';
import type { RouteHost } from 'recourse-server/routes/route-host';
import type { HourFigures, Overview, OverviewWarning, States } from '../contract/contract.ts';
import type { Viewer } from '../states/warnings.ts';
import { addOverviewRoutes } from './overview-routes.ts';
import { createSharedOverviews, type OverviewReader } from './shared-overview.ts';

type MayUse = OverviewReader['mayUse'];

/** What the parts of an overview are read from; each rejects with the store. */
export type OverviewSources = {
  readonly figures: (tenant: string, mayUse: MayUse) => Promise<HourFigures>;
  readonly states: (viewer: Viewer) => Promise<States>;
  readonly sessions: (tenant: string, reader: OverviewReader) => Promise<Overview['sessions']>;
  readonly waiting: Waiting;
};

/** What waits for people or for a look, of a tenant. */
export type Waiting = {
  /** Writes whose outcome is unknown. `holder`: the tenant, or the address of an anonymous caller. */
  readonly unknown: (tenant: string) => Promise<readonly { readonly tool: string; readonly holder: string }[]>;
  readonly approvals: (tenant: string) => Promise<readonly { readonly tool: string }[]>;
};

export type OverviewOptions = OverviewSources & {
  readonly version: string;
  /** The store's time, in Unix milliseconds. */
  readonly time: () => number;
  readonly onFailed: (error: unknown) => void;
};

/** The first screen of people on call: `GET /overview`, as JSON or as a stream. */
export const openOverview = (options: OverviewOptions) => {
  const find = createSharedOverviews(createRead(options));
  return { addRoutes: (app: FastifyInstance, host: RouteHost): void => addOverviewRoutes(app, host, find) };
};

const createRead = (options: OverviewOptions) => {
  const { version, time, onFailed } = options;
  const unknown = shareByTenant(options.waiting.unknown);
  const approvals = shareByTenant(options.waiting.approvals);
  return async (reader: OverviewReader): Promise<Overview> => {
    const { tenant, holder, mayUse } = reader;
    const missing: string[] = [];
    const orElse = <Part>(name: string, part: Promise<Part>, other: Part): Promise<Part> =>
      part.catch((error: unknown) => {
        missing.push(name);
        onFailed(error);
        return other;
      });
    const [figures, states, sessions, writes, calls] = await Promise.all([
      options.figures(tenant, mayUse),
      options.states(reader),
      orElse('sessions', options.sessions(tenant, reader), NO_SESSIONS),
      orElse('unknown', unknown(tenant), []),
      orElse('approvals', approvals(tenant), []),
    ]);
    const own = writes.filter((write) => write.holder === holder);
    return {
      at: new Date(time()).toISOString(),
      version,
      figures,
      sessions,
      unknown: { total: own.filter(({ tool }) => mayUse(tool)).length },
      approvals: { total: calls.filter(({ tool }) => mayUse(tool)).length },
      ...states,
      warnings: missing.length === 0 ? states.warnings : [...states.warnings, describeMissing(missing)],
    };
  };
};

const NO_SESSIONS: Overview['sessions'] = { failing: 0, blocked: [] };

const describeMissing = (missing: readonly string[]): OverviewWarning => ({
  code: 'store_unavailable',
  message: `The store did not answer: ${missing.toSorted().join(', ')} are shown as 0. See the state of the store.`,
  replicas: [],
});

// To list what waits is a reading for each of it: of a thousand one takes some 50 ms.
const WAITING_SHARED_MS = 5000;
const WAITING_REST = 50;
const MOST_TENANTS = 256;

/** Gives what was listed within the last 5 s, and longer where it took long: at most 2 % of the time is spent on it. */
const shareByTenant = <Item>(list: (tenant: string) => Promise<readonly Item[]>) => {
  const known = new Map<string, { readonly items: Promise<readonly Item[]>; until: number }>();
  return (tenant: string): Promise<readonly Item[]> => {
    const begun = performance.now();
    const found = known.get(tenant);
    if (found !== undefined && begun < found.until) return found.items;
    const next = { items: list(tenant), until: Number.POSITIVE_INFINITY };
    known.delete(tenant);
    known.set(tenant, next);
    for (const oldest of known.keys()) if (known.size > MOST_TENANTS) known.delete(oldest);
    const end = (): void => {
      const now = performance.now();
      next.until = now + Math.max(WAITING_SHARED_MS, WAITING_REST * (now - begun));
    };
    next.items.then(end, () => known.delete(tenant));
    return next.items;
  };
};
