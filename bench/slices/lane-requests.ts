import { toApiKey, toSessionId, toText } from '../bodies.ts';
import { toMessage } from '../forms.ts';
import type { LanePlan } from './slice-plan.ts';

const KEY_HEADERS = {
  none: null,
  fresh: 'idempotency-key',
  kept: 'idempotency-key',
  ignored: 'idempotency-not',
} as const;
const LANE_DIGITS = 4;
const ID_DIGITS = 24;

/** The bytes of the next request of a lane, each time another one, until all have had their turn. */
export type NextRequest = () => Buffer;

/** Makes all requests of a lane at once. `number` counts the lanes of the process: sessions and keys of each are its own. */
export const createRequests = (lane: LanePlan, number: number): NextRequest => {
  const made = Array.from({ length: lane.requests }, (_, index) => toRequest(lane, number, index));
  // An id is written into the bytes where it must be new: no request is sent again while it waits for its answer.
  const idAt = made[0]?.indexOf(toId(number, 0)) ?? -1;
  const isFresh = lane.key === 'fresh' || lane.key === 'ignored';
  let sent = 0;
  return () => {
    const request = made[sent % made.length];
    if (request === undefined) throw new Error('A lane has no requests.');
    if (isFresh) request.write(toId(number, sent), idAt, 'latin1');
    sent += 1;
    return request;
  };
};

const toId = (lane: number, id: number): string =>
  `k${String(lane).padStart(LANE_DIGITS, '0')}_${String(id).padStart(ID_DIGITS, '0')}`;

const toRequest = (lane: LanePlan, number: number, index: number): Buffer => {
  const { kind, form, calls, sessions, apiKeys, deadlineMs } = lane;
  const { path, headers, body } = toMessage(form, {
    kind,
    deadlineMs,
    session: sessions === 0 ? null : toSessionId(index % sessions, lane.sessionNames === 'own' ? number : 0),
    texts: Array.from({ length: calls }, (_, call) => toText(index, call)),
  });
  const keyHeader = KEY_HEADERS[lane.key];
  const lines = {
    host: new URL(lane.url).host,
    'content-type': 'application/json',
    // First of all others: so its place is the same in every request of the lane.
    ...(keyHeader === null ? {} : { [keyHeader]: toId(number, index) }),
    ...headers,
    ...(apiKeys === 0 ? {} : { authorization: `Bearer ${toApiKey(index % apiKeys)}` }),
    'content-length': String(Buffer.byteLength(body)),
  };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${head.join('')}\r\n${body}`);
};
