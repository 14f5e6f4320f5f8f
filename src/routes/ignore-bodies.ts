import type { FastifyInstance } from 'fastify';

/** Requests to these routes need no body. Clients that send one, or announce an empty one as JSON, are answered all the same. */
export const ignoreBodies = (routes: FastifyInstance): void => {
  routes.removeAllContentTypeParsers();
  routes.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume();
    done(null);
  });
};
