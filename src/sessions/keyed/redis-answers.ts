import * as z from 'zod';
import type { KeyedBatch } from '../../executor/keyed-store.ts';
import type { RedisClient } from '../redis-client.ts';
import { parseObject } from './kept-result.ts';
import { RECORD_TTL_MS, readResults } from './keyed-record.ts';
import { type KeyedScripts, readOn } from './redis-keyed-scripts.ts';

const Answer = z.object({
  record: z.string(),
  life: z.string(),
  calls: z.int().nonnegative(),
  own: z.array(z.tuple([z.int().nonnegative(), z.string()])),
});
type Answer = Readonly<z.infer<typeof Answer>>;

/** What requests were answered, in Redis: one string a request, which names the record that has the results. */
export type RedisAnswers = {
  /**
   * Notes what a request was answered; `own` are the results that only this answer has. A note of another record stays.
   * Never rejects: without the note `find` knows of nothing, and a record that was kept stays kept.
   */
  readonly remember: (batch: KeyedBatch, life: string, own: ReadonlyMap<number, string>) => Promise<void>;
  readonly find: (requestKey: string) => Promise<readonly string[] | null>;
};

// A slot of its own, so it cannot be written in one step with the record.
const toRedisKey = (requestKey: string): string => `recourse:{${requestKey}}:request`;

export const createRedisAnswers = (client: RedisClient, scripts: KeyedScripts): RedisAnswers => ({
  remember: ({ recordKey, requestKey, calls }, life, own) => {
    const answer = JSON.stringify({ record: recordKey, life, calls, own: [...own] } satisfies Answer);
    return note(client, { recordKey, requestKey, answer }).then(ignore, ignore);
  },
  find: async (requestKey) => {
    const answer = await readNote(client, requestKey);
    return answer === null ? null : readAnswer(scripts, answer);
  },
});

const ignore = (): void => undefined;

// Nearly always the id is new, and one command does. Between the two of a repeat nothing can come that matters: a note is
// replaced by its own record alone.
const note = async (
  client: RedisClient,
  { recordKey, requestKey, answer }: { readonly [part in 'recordKey' | 'requestKey' | 'answer']: string },
): Promise<void> => {
  const set = [toRedisKey(requestKey), answer, 'PX', String(RECORD_TTL_MS)] as const;
  if ((await client.call('SET', ...set, 'NX')) === 'OK') return;
  const noted = await readNote(client, requestKey);
  if (noted === null || noted.record === recordKey) await client.call('SET', ...set);
};

/** The note of a request; null where there is none that can be read. */
const readNote = async (client: RedisClient, requestKey: string): Promise<Answer | null> => {
  const text = z
    .string()
    .nullable()
    .parse(await client.call('GET', toRedisKey(requestKey)));
  return Answer.safeParse(text === null ? null : parseObject(text)).data ?? null;
};

const readAnswer = async (scripts: KeyedScripts, answer: Answer): Promise<readonly string[] | null> => {
  const { record: recordKey, life, calls } = answer;
  const known = await readOn(scripts, { recordKey, life, calls }, [0]);
  if (known === null) return null;
  const own = new Map(answer.own);
  return readResults(calls, (index) => toReadable(own.get(index) ?? known.get(index)));
};

const toReadable = (text: string | undefined): string | null =>
  text === undefined || parseObject(text) === null ? null : text;
