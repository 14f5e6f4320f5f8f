import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import { toWaitBody } from './requests.ts';

const CONNECTIONS = 4;
const Accepted = z.object({
  request_id: z.string(),
  results: z.array(z.object({ outcome: z.literal('pending') })),
});

export type AcceptedBatches = {
  readonly url: string;
  readonly batches: number;
  readonly calls: number;
  /** What a call takes once it runs, in milliseconds. */
  readonly ms: number;
};

/** Has so many batches accepted, and gives their request ids; throws where a call is not pending. */
export const acceptCalls = async ({ url, batches, calls, ms }: AcceptedBatches): Promise<readonly string[]> => {
  const body = toWaitBody(ms, calls);
  const requestIds: string[] = [];
  let left = batches;
  const postShare = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      requestIds.push(await postBatch(url, body));
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, postShare));
  return requestIds;
};

// A machine that is busy may keep Redis from an answer within 50 ms. What was refused for that has not run.
const TRIES = 20;
const PAUSE_MS = 250;
const AWAY = '"code":"store_unavailable"';

const postBatch = async (url: string, body: string): Promise<string> => {
  const headers = { 'content-type': 'application/json', prefer: 'respond-async, wait=0' };
  for (let tries = 1; ; tries += 1) {
    const answer = await fetch(url, { method: 'POST', headers, body });
    const text = await answer.text();
    const { data } = Accepted.safeParse(JSON.parse(text));
    if (answer.status === 202 && data !== undefined) return data.request_id;
    if (tries === TRIES || !text.includes(AWAY))
      throw new Error(`A batch was not accepted: ${answer.status} ${text.slice(0, 600)}`);
    await pause(PAUSE_MS);
  }
};
