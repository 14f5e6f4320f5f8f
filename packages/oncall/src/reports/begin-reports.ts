import type { FastifyInstance } from 'fastify';
import { FAILURE_POLICY } from 'recourse-server/contract/failure';
import type { Failure } from 'recourse-server/executor/call-outcome';
import type { RouteHost } from 'recourse-server/routes/route-host';
import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import type { Metrics } from 'recourse-server/telemetry/metrics';
import type { CountedCalls } from './call-taker.ts';
import { ReportBook, type ReportBookParts } from './report-book.ts';
import { addReportRoutes } from './report-routes.ts';
import { createTenantMetrics } from './tenant-metrics.ts';

type ReportParts = Pick<ReportBookParts, 'redactor'> & {
  readonly backend: Pick<StoreBackend, 'records' | 'space'>;
  readonly metrics: Metrics;
  /** The store's time, in Unix milliseconds. */
  readonly time: () => number;
};

/** Begins to count calls for GET /reports/tools, and for the metrics of the tenants that `open` names. */
export const beginReports = (calls: CountedCalls) => {
  const book = new ReportBook(calls);
  let findTool: RouteHost['findTool'] = () => undefined;
  let tenants: ReturnType<typeof createTenantMetrics> | null = null;
  const answered = (tenant: string, failure: Failure | null, durationMs: number): void => {
    if (tenants !== null)
      tenants.answered(tenant, failure === null ? null : FAILURE_POLICY[failure.code].fault, durationMs);
  };
  const open = (named: readonly string[], { backend, metrics, redactor, time }: ReportParts) => {
    if (named.length > 0) tenants = createTenantMetrics(metrics, named);
    const { records, space } = backend;
    book.open({ records, space, redactor, schemaOf: (tool) => findTool(tool)?.inputSchema });
    return {
      addRoutes: (app: FastifyInstance, host: RouteHost): void => {
        findTool = host.findTool;
        addReportRoutes(app, host, { book, time });
      },
      start: () => book.start(),
      close: () => book.close(),
    };
  };
  return { watch: book.watch, answered, open };
};
