import { hasMoreNodes } from '../contract/json-weight.ts';

// A hundred messages in one body have some two thousand values, without their arguments.
const MOST_VALUES = 5_000;

/**
 * The answer to a body with more in it than any request of the protocol has; else null. The arguments of calls are not
 * counted: the executor judges them. The SDK's schemas would collect several problems for each value, and answer with them all:
 * one megabyte of them took five seconds and became 89.
 */
export const refuseHeavy = (body: unknown): Response | null => {
  if (!hasMoreNodes(body, MOST_VALUES, ARGUMENTS)) return null;
  const message = `A message must not hold more than ${MOST_VALUES} values beside the arguments of its calls.`;
  return Response.json({ jsonrpc: '2.0', id: null, error: { code: INVALID_REQUEST, message } }, { status: 400 });
};

const ARGUMENTS: ReadonlySet<string> = new Set(['arguments']);
const INVALID_REQUEST = -32_600;
