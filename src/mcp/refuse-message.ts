import { hasMoreNodes } from '../contract/json-weight.ts';
import { ProblemError } from '../routes/problem-handler.ts';

// A message has some twenty values, without its arguments; what clients say of themselves may be longer.
const MOST_VALUES = 5_000;

/**
 * Throws where a body is no one message. Several in one body: revision 2025-03-26 alone had them, 2025-06-18 took them
 * away, and one small request would ask for a hundred catalogues. More values than any message of the protocol has: the
 * SDK's schemas would collect several problems for each, and answer with them all; one megabyte took five seconds and
 * became 89. The arguments of calls are not counted: the executor judges them.
 */
export const refuseMessage = (body: unknown): void => {
  if (Array.isArray(body)) throw new ProblemError(400, 'invalid_message', SEVERAL);
  if (hasMoreNodes(body, MOST_VALUES, ARGUMENTS)) throw new ProblemError(400, 'invalid_message', HEAVY);
};

const ARGUMENTS: ReadonlySet<string> = new Set(['arguments']);
const SEVERAL = 'Several messages in one body are not taken. Send each in a request of its own.';
const HEAVY = `A message must not hold more than ${MOST_VALUES} values beside the arguments of its calls.`;
