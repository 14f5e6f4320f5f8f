import { toBody, toText } from '../bodies.ts';
import { toPost } from '../http-connection.ts';

/** How a call is asked for: its answer comes with its result; or it is queued, and the answer waits up to 30 s for its end. */
export type Manner = 'direct' | 'queued';

const LONGEST_WAIT_S = 30;
const HEADERS = {
  direct: {},
  queued: { prefer: `respond-async, wait=${LONGEST_WAIT_S}` },
} as const satisfies Record<Manner, Readonly<Record<string, string>>>;

/** The bytes of a batch of one call that takes so long. Of no session: the same call again is another call. */
export const toWaitRequest = (url: string, ms: number, manner: Manner): string =>
  toPost(url, toWaitBody(ms, 1), HEADERS[manner]);

/** The JSON text of a batch of calls that take so long. */
export const toWaitBody = (ms: number, calls: number): string =>
  JSON.stringify({
    calls: Array.from({ length: calls }, (_, index) => ({
      id: `call_${index}`,
      name: 'wait_queued',
      arguments: { text: toText(0, index), ms },
    })),
  });

/** The bytes of a batch of one `echo`. */
export const toEchoRequest = (url: string): string => toPost(url, toBody('succeeding', null, [toText(0, 0)]));
