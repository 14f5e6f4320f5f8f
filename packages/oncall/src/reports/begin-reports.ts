import type { FastifyInstance } from 'fastify';
import type { RouteHost } from 'recourse-server/routes/route-host';
import type { StoreBackend } from 'recourse-server/sessions/store-backend';
import type { TakeCalls } from '../figures/call-counts.ts';
import { ReportBook, type ReportBookParts } from './report-book.ts';
import { addReportRoutes } from './report-routes.ts';

type ReportParts = Pick<ReportBookParts, 'redactor'> & {
  readonly backend: Pick<StoreBackend, 'records' | 'space'>;
  /** The store's time, in Unix milliseconds. */
  readonly time: () => number;
};

/** Begins to count calls for GET /reports/tools. `takeCalls`: how many calls of each tool came since it was asked last. */
export const beginReports = (takeCalls: TakeCalls) => {
  const book = new ReportBook(takeCalls);
  let findTool: RouteHost['findTool'] = () => undefined;
  const open = ({ backend, redactor, time }: ReportParts) => {
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
  return { watch: book.watch, open };
};
