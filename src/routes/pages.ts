import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refuseOtherMethods } from './problem-handler.ts';
import { ProblemError } from './problems.ts';
import { sendUnlessKnown } from './send-answer.ts';

/** What every page for people is sent with: where its styles come from, and directives of its policy beside those of all. */
export const toPageHeaders = (styles: string, more: readonly string[] = []): Readonly<Record<string, string>> => ({
  'cache-control': 'no-cache',
  // Nothing from elsewhere, no form that leads away, no frame around it.
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    `style-src ${styles}`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    ...more,
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
});

type RootOptions = {
  readonly version: string;
  /** Paths that are served, in the order in which they are told. */
  readonly links: Readonly<Record<string, string>>;
  /** Where a browser is sent; null: it reads the links as well. */
  readonly page: string | null;
};

/** GET /: where everything is. A browser is sent to the console. Says nothing that needs a key. */
export const addRootRoute = (app: FastifyInstance, { version, links, page }: RootOptions): void => {
  app.get('/', (request, reply) => {
    // The router takes `*` for this path, too; it names nothing but for OPTIONS.
    if (request.url === '*') return reply.callNotFound();
    const isBrowser = request.headers.accept?.includes('text/html') === true;
    void reply.header('vary', 'accept');
    // Without a slash before it, so that it holds below any prefix of a proxy.
    if (isBrowser && page !== null) return reply.redirect(page, 302);
    return reply.send({ service: 'recourse', version, links });
  });
  refuseOtherMethods(app, '/', ['GET', 'HEAD']);
};

/** A file of the console as it is sent: `type` is the whole content type, `etag` stands in its quotes. */
export type ConsoleFile = { readonly type: string; readonly body: string; readonly etag: string };
/** Makes a file when it is first asked for, and gives that one from then on. */
export type MakeConsoleFile = () => ConsoleFile;
/** By name, without a folder; the page itself is `page.html`. */
export type ConsoleFiles = ReadonlyMap<string, MakeConsoleFile>;

// Only lit-html may turn text into markup.
const HEADERS = toPageHeaders("'self'", ["require-trusted-types-for 'script'", 'trusted-types lit-html']);

const PAGE = 'page.html';

/** GET /console and what the page loads from /console/…, from memory. Holds no data: the page asks the API for it, with a key. */
export const addConsoleRoutes = (app: FastifyInstance, files: ConsoleFiles): void => {
  const send = (name: string, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const make = files.get(name);
    if (make === undefined) throw new ProblemError(404, 'not_found', 'The console does not have this file.');
    return sendFile(make(), request, reply);
  };
  app.get('/console', (request, reply) => send(PAGE, request, reply));
  // The page names its files as `console/…`, so that it works below any prefix of a proxy; that needs this one address.
  app.get('/console/', (_request, reply) => reply.redirect('../console', 308));
  app.get<{ Params: { file: string } }>('/console/:file', (request, reply) =>
    send(request.params.file, request, reply),
  );
  for (const url of ['/console', '/console/', '/console/:file']) refuseOtherMethods(app, url, ['GET', 'HEAD']);
};

const sendFile = ({ type, body, etag }: ConsoleFile, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  void reply.headers(HEADERS);
  return sendUnlessKnown(request, reply, etag, () => reply.type(type).send(body));
};
