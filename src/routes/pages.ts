import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { refuseOtherMethods } from './problem-handler.ts';

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

/** The style sheet that every page for people begins with: colours, space and type by name. */
export const readTokens = (): string => readFileSync(new URL('tokens.css', import.meta.url), 'utf8');

/** GET /: where everything is. A browser is sent to the console. Says nothing that needs a key. */
export const addRootRoute = (
  app: FastifyInstance,
  {
    version,
    links,
    page,
  }: {
    readonly version: string;
    /** Paths that are served, in the order in which they are told. */
    readonly links: Readonly<Record<string, string>>;
    /** Where a browser is sent; null: it reads the links as well. */
    readonly page: string | null;
  },
): void => {
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
