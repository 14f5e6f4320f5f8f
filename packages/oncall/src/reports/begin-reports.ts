import type { RouteHost } from 'recourse-server/routes/route-host';
import type { OncallPart, OncallParts } from '../oncall.ts';
import { ReportBook } from './report-book.ts';
import { addReportRoutes } from './report-routes.ts';

/** Begins to count calls for GET /reports/tools. */
export const beginReports = () => {
  const book = new ReportBook();
  let findTool: RouteHost['findTool'] = () => undefined;
  const open = ({ backend, redactor, time }: OncallParts): OncallPart => {
    const { records, space } = backend;
    book.open({ records, space, redactor, schemaOf: (tool) => findTool(tool)?.inputSchema });
    return {
      addRoutes: (app, host) => {
        findTool = host.findTool;
        addReportRoutes(app, host, { book, time });
      },
      start: () => book.start(),
      close: () => book.close(),
    };
  };
  return { watch: book.watch, open };
};
