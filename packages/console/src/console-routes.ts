import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RouteHost } from 'recourse-server/extension';
import { toPageHeaders } from 'recourse-server/routes/pages';
import { refuseOtherMethods } from 'recourse-server/routes/problem-handler';
import { ProblemError } from 'recourse-server/routes/problems';
import { sendUnlessKnown } from 'recourse-server/routes/send-answer';
import { makeConsoleFiles, readScript } from './console-files.ts';

// Only lit-html may turn text into markup.
const HEADERS = toPageHeaders("'self'", ["require-trusted-types-for 'script'", 'trusted-types lit-html']);

const PAGE = 'page.html';
// Named, and not to be left out (RFC 9110, section 12.5.3).
const TAKES_GZIP = /(?:^|,)\s*gzip\s*(?:,|$|;\s*q=(?!0(?:\.0*)?\s*(?:,|$)))/i;

/** GET /console and what the page loads from /console/…, from memory. Holds no data: the page asks the API for it, with a key. */
export const addConsoleRoutes = (app: FastifyInstance, pages: RouteHost['consolePages'], traceUrl: string): void => {
  const hasDocs = (): boolean => app.hasRoute({ method: 'GET', url: '/docs' });
  const files = makeConsoleFiles({ pages, traceUrl, hasDocs, script: readScript() });
  const send = (name: string, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const file = files.get(name)?.();
    if (file === undefined) throw new ProblemError(404, 'not_found', 'The console does not have this file.');
    const isPacked = TAKES_GZIP.test(request.headers['accept-encoding'] ?? '');
    const { bytes, etag } = isPacked ? file.packed : file.plain;
    void reply.headers({ ...HEADERS, vary: 'accept-encoding', ...(isPacked && { 'content-encoding': 'gzip' }) });
    return sendUnlessKnown(request, reply, etag, () => reply.type(file.type).send(bytes));
  };
  app.get('/console', (request, reply) => send(PAGE, request, reply));
  // The page names its files as `console/…`, so that it works below any prefix of a proxy; that needs this one address.
  app.get('/console/', (_request, reply) => reply.redirect('../console', 308));
  app.get<{ Params: { file: string } }>('/console/:file', (request, reply) =>
    send(request.params.file, request, reply),
  );
  // What `approval.url` names: it only shows, and its fragment is what the page keeps its address in.
  app.get<{ Params: { id: string } }>('/console/approvals/:id', (request, reply) =>
    reply.redirect(`../../console#${new URLSearchParams({ approvals: request.params.id })}`, 308),
  );
  for (const url of ['/console/approvals/:id', '/console', '/console/', '/console/:file'])
    refuseOtherMethods(app, url, ['GET', 'HEAD']);
};
