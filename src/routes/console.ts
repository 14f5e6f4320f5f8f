import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendUnlessKnown } from './entity-tag.ts';
import { toPageHeaders } from './page-headers.ts';
import { ProblemError, refuseOtherMethods } from './problem-handler.ts';

/** A file of the console as it is sent: `type` is the whole content type, `etag` stands in its quotes. */
export type ConsoleFile = { readonly type: string; readonly body: string; readonly etag: string };
/** Makes a file when it is first asked for, and gives that one from then on. */
export type MakeConsoleFile = () => ConsoleFile;
/** By name, without a folder; the page itself is `page.html`. */
export type ConsoleFiles = ReadonlyMap<string, MakeConsoleFile>;

export type ConsoleOptions = { readonly files: ConsoleFiles };

// Only lit-html may turn text into markup.
const HEADERS = toPageHeaders("'self'", ["require-trusted-types-for 'script'", 'trusted-types lit-html']);

const PAGE = 'page.html';

/** GET /console and what the page loads from /console/…, from memory. Holds no data: the page asks the API for it, with a key. */
export const addConsoleRoutes = (app: FastifyInstance, { files }: ConsoleOptions): void => {
  const send = (name: string, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const make = files.get(name);
    if (make === undefined) throw new ProblemError(404, 'not_found', 'The console has no such file.');
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
