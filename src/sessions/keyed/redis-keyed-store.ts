import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import type {
  EarlierCall,
  HeldRecord,
  KeyedBatch,
  KeyedStore,
  Opening,
  ResultToKeep,
} from '../../executor/keyed-store.ts';
import type { MayKeep } from '../../executor/store-observer.ts';
import { createRedisScript, type RedisClient, toPatient } from '../redis-client.ts';
import {
  createResultCap,
  LEASE_MS,
  parseObject,
  RECORD_TTL_MS,
  readResults,
  toAllResults,
  toOwnResults,
} from './keyed-results.ts';

const LEASE = String(LEASE_MS);
const TTL = String(RECORD_TTL_MS);
// Others have 50 ms for a command: what is larger goes in several, of which each makes sense alone.
const PIECE_BYTES = 512 * 1024;

// Where to read on, then index and result of calls that a try began; '' where no result is known.
const Page = z.tuple([z.int().nonnegative()], z.string());
type Page = readonly [number, ...string[]];

const Opened = z.union([
  z.tuple([z.literal('other_body')]),
  z.tuple([z.literal('in_flight'), z.int().positive()]),
  z.tuple([z.literal('complete'), z.string(), Page]),
  z.tuple([z.literal('held'), z.string(), Page, z.string()]),
]);
const Done = z.literal([0, 1]);

/** Results by the index of their call; '' where a call began and none is known. */
type FoundCalls = ReadonlyMap<number, string>;

/** One atomic step of keyed.lua on a record. Rejects when Redis does. */
type RunStep = (
  step: 'open' | 'read' | 'start' | 'renew' | 'commit' | 'amend',
  recordKey: string,
  ...parameters: readonly string[]
) => Promise<unknown>;

/**
 * Records of keyed batches in Redis, shared by all replicas: one hash a key, one atomic script a step. Each is patient for
 * a second: who sent a key would rather wait than send it again. Rejects when Redis does; a step whose answer was lost may have been applied and is never sent again.
 */
export const createRedisKeyedStore = (options: {
  readonly client: Pick<RedisClient, 'callPatiently' | 'preload'>;
  readonly maxResultBytes?: number;
  readonly mayKeep?: MayKeep;
}): KeyedStore => {
  const { mayKeep = () => true } = options;
  const client = toPatient(options.client);
  const script = createRedisScript(client, new URL('../lua/', import.meta.url), ['fields.lua', 'keyed.lua']);
  // The whole of tenant and key is the hash tag: a record is one cluster slot, and a tenant is many.
  const run: RunStep = (step, recordKey, ...parameters) =>
    script([`recourse:{${recordKey}}:keyed`], [step, ...parameters]);
  const answers = createAnswers(client, run);

  const openComplete = async (batch: KeyedBatch, life: string, found: FoundCalls): Promise<Opening> => {
    const broken = [...found].flatMap(([index, result]) => (parseObject(result) === null ? [index] : []));
    // Their calls ran, and nobody knows any more how they ended: that is for a try of its own to say.
    if (broken.length > 0) return open(batch, broken);
    const results = readResults(batch.calls, (index) => found.get(index));
    if (results === null) throw new Error('A record was changed while it was read.');
    await answers.remember(batch, life, new Map());
    return { kind: 'complete', results };
  };

  const open = async (batch: KeyedBatch, unreadable: readonly number[]): Promise<Opening> => {
    const { recordKey, body, calls } = batch;
    const parameters = [body, String(calls), LEASE, TTL, randomUUID(), ...unreadable.map(String)];
    const opened = Opened.parse(await run('open', recordKey, ...parameters));
    if (opened[0] === 'other_body') return { kind: 'other_body' };
    if (opened[0] === 'in_flight') return { kind: 'in_flight', retryAfterMs: opened[1] };
    const [, life, firstPage] = opened;
    const found = await readOn(run, { recordKey, life, calls }, firstPage);
    if (found === null) throw new Error('A record was lost while it was read.');
    if (opened[0] === 'complete') return openComplete(batch, life, found);
    const cap = createResultCap(found.values(), options);
    const steps = createSteps({ batch, life, fence: opened[3], run, answers, cap, mayKeep });
    return { kind: 'held', record: { earlier: toEarlierCalls(found), ...steps } };
  };

  return { durability: 'durable', open: (batch) => open(batch, []), find: answers.find };
};

/**
 * Reads a record on from its first page: several answers for a large one, which would not come in time as one. Null
 * where the key has begun another life meanwhile.
 */
const readOn = async (
  run: RunStep,
  { recordKey, life, calls }: { readonly recordKey: string; readonly life: string; readonly calls: number },
  firstPage: Page,
): Promise<FoundCalls | null> => {
  const found = new Map<number, string>();
  let page = firstPage;
  for (;;) {
    const [next, ...words] = page;
    for (let position = 0; position < words.length; position += 2)
      found.set(Number(words[position]), words[position + 1] ?? '');
    if (next >= calls) return found;
    const more = Page.nullable().parse(await run('read', recordKey, life, String(next), String(calls)));
    if (more === null) return null;
    page = more;
  }
};

const toEarlierCalls = (found: FoundCalls): ReadonlyMap<number, EarlierCall> =>
  new Map(
    [...found].map(([index, result]) => [
      index,
      parseObject(result) === null ? { state: 'started' } : { state: 'committed', result },
    ]),
  );

/** The record for the try that holds it. */
const createSteps = (parts: {
  readonly batch: KeyedBatch;
  readonly life: string;
  readonly fence: string;
  readonly run: RunStep;
  readonly answers: ReturnType<typeof createAnswers>;
  readonly cap: (result: string) => string;
  readonly mayKeep: MayKeep;
}): Omit<HeldRecord, 'earlier'> => {
  const { batch, life, fence, run, answers, cap, mayKeep } = parts;
  const { recordKey } = batch;
  // A caller that was told to ask again finds its results by this record alone.
  const kind = batch.answer === 'promised' ? 'pending_results' : 'results';
  const finals = new Set<number>();
  const runOurs = async (step: 'start' | 'renew' | 'commit' | 'amend', ...parameters: readonly string[]) =>
    Done.parse(await run(step, recordKey, life, fence, ...parameters)) === 1 ? 'held' : 'lost';
  let written: 'no' | 'perhaps' | 'yes' = 'no';
  const writeOnce = async (results: readonly ResultToKeep[]): Promise<'held' | 'lost'> => {
    if (written === 'yes') return 'held';
    const before = written;
    written = 'perhaps';
    // Where an earlier try of this commit was not answered, it may be that one which has ended the lease.
    const state = await write(results);
    written = state === 'held' || before === 'perhaps' ? 'yes' : 'no';
    return written === 'yes' ? 'held' : 'lost';
  };
  const write = async (results: readonly ResultToKeep[]): Promise<'held' | 'lost'> => {
    const pieces = toPieces(results);
    for (const [position, words] of pieces.entries()) {
      const state = await runOurs('commit', LEASE, TTL, position === pieces.length - 1 ? 'last' : 'more', ...words);
      if (state === 'lost') return state;
    }
    return 'held';
  };
  const remember = async (stored: readonly ResultToKeep[]): Promise<void> => {
    const state = await answers.remember(batch, life, toOwnResults(stored));
    if (state === 'away' && batch.answer === 'promised') throw new Error('The answer could not be kept.');
  };
  return {
    start: (index) => runOurs('start', LEASE, String(index)),
    renew: () => runOurs('renew', LEASE),
    commit: async (results) => {
      const capped = results.map((one) => ({ ...one, result: cap(one.result) }));
      const hasRoom = capped.length === 0 || mayKeep(kind);
      // The marks of writes that began stay: none of them runs again.
      const stored = hasRoom ? capped : capped.filter(({ kind }) => kind === 'repeatable');
      if ((await writeOnce(stored)) === 'lost') {
        await answers.remember(batch, life, toAllResults(stored));
        return 'lost';
      }
      if (!hasRoom) return 'marked';
      for (const index of toFinals(stored)) finals.add(index);
      await remember(stored);
      written = 'no';
      return 'held';
    },
    amend: async (index, result) => {
      if (!finals.has(index)) return;
      if (mayKeep(kind)) await runOurs('amend', String(index), cap(result));
    },
  };
};

const toFinals = (results: readonly ResultToKeep[]): readonly number[] =>
  results.filter(({ kind }) => kind === 'final').map(({ index }) => index);

// At least one, for it is the last that ends the lease.
const toPieces = (results: readonly ResultToKeep[]): readonly (readonly string[])[] => {
  let piece: string[] = [];
  let bytes = 0;
  const pieces = [piece];
  for (const { index, result, kind } of results) {
    const text = kind === 'final' ? result : '';
    if (bytes >= PIECE_BYTES) {
      piece = [];
      bytes = 0;
      pieces.push(piece);
    }
    piece.push(String(index), text);
    bytes += Buffer.byteLength(text);
  }
  return pieces;
};

const Answer = z.object({
  record: z.string(),
  life: z.string(),
  calls: z.int().nonnegative(),
  own: z.array(z.tuple([z.int().nonnegative(), z.string()])),
});
type Answer = Readonly<z.infer<typeof Answer>>;

/** What requests were answered, in Redis: one string a request, which names the record that has the results. */
const createAnswers = (client: Pick<RedisClient, 'call'>, run: RunStep) => {
  // A slot of its own, so it cannot be written in one step with the record.
  const toRedisKey = (requestKey: string): string => `recourse:{${requestKey}}:request`;
  /** null where there is none that can be read. */
  const read = async (requestKey: string): Promise<Answer | null> => {
    const text = z
      .string()
      .nullable()
      .parse(await client.call('GET', toRedisKey(requestKey)));
    return Answer.safeParse(text === null ? null : parseObject(text)).data ?? null;
  };
  // Nearly always the id is new, and one command does. Between the two of a repeat nothing can come that matters: an answer
  // is replaced by one of its own record alone.
  const write = async (requestKey: string, answer: Answer): Promise<void> => {
    const set = [toRedisKey(requestKey), JSON.stringify(answer), 'PX', TTL] as const;
    if ((await client.call('SET', ...set, 'NX')) === 'OK') return;
    const before = await read(requestKey);
    if (before === null || before.record === answer.record) await client.call('SET', ...set);
  };
  return {
    /**
     * Notes what a request was answered; `own` are the results that only this answer has. That of another record stays.
     * Never rejects: without it `find` knows of nothing, and a record that was kept stays kept.
     */
    remember: (
      { recordKey, requestKey, calls }: KeyedBatch,
      life: string,
      own: ReadonlyMap<number, string>,
    ): Promise<'kept' | 'away'> =>
      write(requestKey, { record: recordKey, life, calls, own: [...own] }).then(
        () => 'kept',
        () => 'away',
      ),
    find: async (requestKey: string): Promise<readonly string[] | null> => {
      const answer = await read(requestKey);
      if (answer === null) return null;
      const { record: recordKey, life, calls } = answer;
      const found = await readOn(run, { recordKey, life, calls }, [0]);
      const own = new Map(answer.own);
      const findText = (index: number): string => own.get(index) ?? found?.get(index) ?? '';
      return found && readResults(calls, (index) => (parseObject(findText(index)) === null ? null : findText(index)));
    },
  };
};
