import type { JSONRPCErrorResponse } from '@modelcontextprotocol/client';
import * as z from 'zod';
import type { OversizeLine } from './message-lines.ts';

/** Why an answer of the server is replaced by one of our own. */
export type StandIn = 'too_large' | 'lost';

// JSON-RPC 2.0 leaves -32000 to -32099 to whoever implements it.
const SERVER_ERROR = -32_000;
const Marked = z.object({ recourseStandIn: z.enum(['too_large', 'lost']) });

/** An answer in the place of one that was not read: the call it belongs to ends with it, and no other. */
export const toStandIn = (id: string | number, standIn: StandIn): JSONRPCErrorResponse => ({
  jsonrpc: '2.0',
  id,
  error: { code: SERVER_ERROR, message: `The answer was ${standIn}.`, data: { recourseStandIn: standIn } },
});

/** Whether the data of a JSON-RPC error say that we made it. A server that says so of itself changes nothing. */
export const readStandIn = (data: unknown): StandIn | null => {
  const marked = Marked.safeParse(data);
  return marked.success ? marked.data.recourseStandIn : null;
};

// Servers write the id first or last. Within other members it is followed, or preceded, by something else.
const FIRST = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,/;
const LAST = /[\]}"\dle]\s*,\s*"id"\s*:\s*(\d+)\s*\}\s*$/;
const NO_ANSWER = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"method"\s*:/;

/** What a message was that was not read: the answer to the call of that id, none at all, or nobody knows. */
export const identifyOversize = ({ head, tail }: OversizeLine): number | 'no_answer' | 'unknown' => {
  if (NO_ANSWER.test(head)) return 'no_answer';
  const id = FIRST.exec(head)?.[1] ?? LAST.exec(tail)?.[1];
  return id === undefined ? 'unknown' : Number(id);
};
