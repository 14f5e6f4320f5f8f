import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Config } from 'recourse-server/config/settings/config';
import type { CallWatch } from 'recourse-server/executor/call-observer';
import type { Redactor } from 'recourse-server/executor/redactor';
import type { AddedRoutes, RouteHost } from 'recourse-server/routes/route-host';
import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import type { Metrics } from 'recourse-server/telemetry/metrics';
import { beginReports } from './reports/begin-reports.ts';

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

/** One part: what it serves, and what it writes while the service runs. */
export type OncallPart = {
  readonly addRoutes: (app: FastifyInstance, host: RouteHost) => void;
  readonly start: () => void;
  /** Writes what is not written yet; best effort. */
  readonly close: () => Promise<void>;
};

/** Begins to count calls, before there is a store: what the service tells of its calls goes to `watch`. */
export const beginOncall = () => {
  const reports = beginReports();
  const watch: CallWatch = { ...reports.watch, batch: () => undefined };
  const open = (_config: Config, given: OncallParts) => {
    const parts: readonly OncallPart[] = [reports.open(given)];
    const addRoutes: AddedRoutes['addRoutes'] = (app, host) => {
      for (const part of parts) part.addRoutes(app, host);
    };
    return {
      added: { addRoutes } satisfies AddedRoutes,
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
