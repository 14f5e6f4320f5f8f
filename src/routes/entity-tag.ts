import type { FastifyReply, FastifyRequest } from 'fastify';

/** Whether `If-None-Match` names the tag, or anything. Compared as RFC 9110 section 13.1.2 has it: weakly. */
const isKnown = (header: string | undefined, entityTag: string): boolean =>
  (header ?? '').split(',').some((known) => [entityTag, '*'].includes(known.trim().replace(/^W\//, '')));

/** Sets the tag, and answers 304 without a body where the client has what it stands for; else `send` answers. */
export const sendUnlessKnown = (
  request: FastifyRequest,
  reply: FastifyReply,
  entityTag: string,
  send: () => FastifyReply,
): FastifyReply => {
  void reply.header('etag', entityTag);
  return isKnown(request.headers['if-none-match'], entityTag) ? reply.code(304).send() : send();
};
