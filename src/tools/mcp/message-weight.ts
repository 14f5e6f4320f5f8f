import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { hasMoreNodes } from '../../contract/json-weight.ts';
import { toStandIn } from './stand-in-answers.ts';

// The SDK checks what a message says with schemas that collect several problems for each bad item: 300 000 empty parts of
// a result took two gigabytes and fourteen seconds.
const MOST_NODES = 5_000;
// Passed on unread by the SDK, and judged elsewhere.
const PASSED_ON: ReadonlySet<string> = new Set(['structuredContent', 'tools']);

/** Hands a message on, unless the SDK would choke on it: then the call it answers is told that the answer is too large. */
export const handOn = (message: JSONRPCMessage, to: (message: JSONRPCMessage) => void): 'taken' | 'too_heavy' => {
  if (!hasMoreNodes(message, MOST_NODES, PASSED_ON)) {
    to(message);
    return 'taken';
  }
  if ('id' in message && !('method' in message) && message.id !== undefined) to(toStandIn(message.id, 'too_large'));
  return 'too_heavy';
};
