import type { Run, SentLoad } from './chaos-run.ts';
import { createClient } from './exchange.ts';
import { isAnswered, type KeyRecord, type SeenResult } from './keyed-attempt.ts';
import { lookAtSessions, readKept } from './look-at-sessions.ts';
import { createRandom } from './random.ts';
import { becomesReady } from './readiness.ts';
import { askAgain, type KeyedTerms } from './send-keyed.ts';
import { createSender } from './sender.ts';

type Replicas = Run['surroundings']['replicas'];

const KEYS = 100;
const AT_ONCE = 8;
const SESSIONS = 12;

/** When all is whole again: keys are asked once more, their answers by request id, and sessions. */
export const lookAfterLoad = async (
  { surroundings: { replicas }, options: { seed }, accounts }: Run,
  { records, budgets, sessionIds }: SentLoad,
): Promise<void> => {
  const random = createRandom(seed + 4);
  const client = createClient();
  const sender = createSender({ replicas, client, random, accounts, prefix: 'after' });
  const signal = AbortSignal.abort();
  const terms = { sender, random, accounts, records: [], signal };
  const failing = budgets.filter(({ allowed }) => allowed !== null).map(({ id }) => id);
  await lookAtSessions(replicas, [...sessionIds.slice(-SESSIONS), ...failing.slice(-SESSIONS)], accounts);
  const waiting = [...spread(records, KEYS)];
  const takeTurns = async (): Promise<void> => {
    for (let record = waiting.pop(); record !== undefined; record = waiting.pop())
      await lookAtKey(record, terms, replicas);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, takeTurns));
  client.close();
};

const spread = <Item>(items: readonly Item[], most: number): readonly Item[] => {
  const step = Math.max(1, Math.ceil(items.length / most));
  return items.filter((_, place) => place % step === 0);
};

const TRIES = 4;

/** A note of what a request was answered may get lost where Redis is slow; the answer itself may not. */
const lookAtKey = async (record: KeyRecord, terms: KeyedTerms, replicas: Replicas): Promise<void> => {
  let found: 'same' | 'others' | 'none' = 'none';
  for (let left = TRIES; left > 0 && found !== 'same'; left -= 1) found = await askAndRead(record, terms, replicas);
  terms.accounts.add(`keyed answers by request id: ${found}`);
  if (found !== 'same') terms.accounts.offend('result_forgotten', `${record.batch.key}: ${found}`);
};

const askAndRead = async (
  record: KeyRecord,
  terms: KeyedTerms,
  replicas: Replicas,
): Promise<'same' | 'others' | 'none'> => {
  const requestId = await askAgain(record, terms);
  const attempt = record.attempts.at(-1);
  if (requestId === null || attempt === undefined || !isAnswered(attempt)) return 'none';
  const replica = terms.random.pick(replicas);
  const kept = await readKept(replica, requestId);
  if (kept === null) {
    await becomesReady(replica);
    return 'none';
  }
  return kept.every((result, place) => isSame(result, attempt.end.results[place])) ? 'same' : 'others';
};

const isSame = (kept: SeenResult, answered: SeenResult | undefined): boolean =>
  kept.digest === answered?.digest || (kept.warnings.has('result_not_kept') && kept.code === answered?.code);
