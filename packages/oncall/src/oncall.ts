import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Config } from 'recourse-server/config/settings/config';
import type { CallWatch } from 'recourse-server/executor/call-observer';
import type { Redactor } from 'recourse-server/executor/redactor';
import type { AddedRoutes, RouteHost } from 'recourse-server/routes/route-host';
import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import { describeCauses } from 'recourse-server/telemetry/describe-error';
import type { Metrics } from 'recourse-server/telemetry/metrics';
import { beginFigures } from './figures/figures.ts';
import { beginLists, type ListParts } from './lists/lists.ts';
import { openOverview, type Waiting } from './overview/overview.ts';
import { beginReports } from './reports/begin-reports.ts';
import { createTenantMetrics } from './reports/tenant-metrics.ts';
import { REPLICA } from './states/own-report.ts';
import { openStates, type StatesParts } from './states/states.ts';

/** What the parts of the package get of the service. */
export type OncallParts = {
  readonly backend: StoreBackend;
  readonly redactor: Redactor;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly version: string;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** The store's time, in Unix milliseconds. */
  readonly time: () => number;
};

type OncallOptions = OncallParts & StatesParts & ListParts & { readonly waiting: Waiting };

/** One part: what it serves, and what it writes while the service runs. */
export type OncallPart = {
  readonly addRoutes: (app: FastifyInstance, host: RouteHost) => void;
  readonly start: () => void;
  /** Writes what is not written yet; best effort. */
  readonly close: () => Promise<void>;
};

/** Begins to count calls, before there is a store: what the service tells of its calls goes to `watch`. */
export const beginOncall = ({ METRICS_TENANTS }: Config, metrics: Metrics) => {
  const figures = beginFigures();
  const lists = beginLists();
  const reports = beginReports(figures.takeCalls);
  const tenants = METRICS_TENANTS.length === 0 ? null : createTenantMetrics(metrics, METRICS_TENANTS);
  const watch: CallWatch = {
    answered:
      tenants === null
        ? figures.watch.answered
        : (tenant, tool, failure, durationMs) => {
            figures.watch.answered(tenant, tool, failure, durationMs);
            tenants.answered(tenant, tool, failure, durationMs);
          },
    failed: (event, failure, call, retry) => {
      figures.watch.failed(event, failure, call, retry);
      lists.watch.failed(event, failure, call, retry);
      reports.watch.failed(event, failure, call, retry);
    },
    recovered: reports.watch.recovered,
    batch: lists.watch.batch,
  };
  const open = (config: Config, options: OncallOptions) => {
    const { log } = options;
    const states = openStates(config, options);
    const counted = figures.open(options);
    const listed = lists.open(config, { ...options, replica: REPLICA });
    const overview = openOverview({
      ...options,
      figures: counted.read,
      states: states.read,
      sessions: listed.summary,
      onFailed: (error) => log.debug({ causes: describeCauses(error) }, 'part of the overview could not be read'),
    });
    const parts: readonly OncallPart[] = [states, { ...counted, ...overview }, listed.part, reports.open(options)];
    const addRoutes: AddedRoutes['addRoutes'] = (app, host) => {
      for (const part of parts) part.addRoutes(app, host);
    };
    return {
      added: { addRoutes } satisfies AddedRoutes,
      sessions: listed.sessions,
      start: (): void => {
        for (const part of parts) part.start();
      },
      close: async (): Promise<void> => {
        await Promise.all(parts.map(({ close }) => close()));
      },
    };
  };
  return { watch, open };
};
