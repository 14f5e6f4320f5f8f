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
import type { RedisClient } from '../redis-client.ts';
import { BOUNDLESS_SPACE, type StoreSpace } from '../space-ledger.ts';
import { createResultCap, parseObject } from './kept-result.ts';
import { LEASE_MS, RECORD_TTL_MS, readResults, toOwnResults } from './keyed-record.ts';
import { createRedisAnswers, type RedisAnswers } from './redis-answers.ts';
import { type KeyedScripts, type KnownCalls, loadKeyedScripts, Page, readOn } from './redis-keyed-scripts.ts';

const Opened = z.union([
  z.tuple([z.literal('other_body')]),
  z.tuple([z.literal('in_flight'), z.int().positive()]),
  z.tuple([z.literal('complete'), z.string(), Page]),
  z.tuple([z.literal('held'), z.string(), z.string(), Page]),
]);
const Done = z.literal([0, 1]);

const LEASE = String(LEASE_MS);
const TTL = String(RECORD_TTL_MS);
// A command has 50 ms: what is larger goes in several, of which each makes sense alone.
const PIECE_BYTES = 512 * 1024;

/**
 * Records of keyed batches in Redis, shared by all replicas: one hash a key, one atomic script a step. Rejects when
 * Redis does; a step whose answer was lost may have been applied and is never sent again.
 */
export const createRedisKeyedStore = (options: {
  readonly client: RedisClient;
  readonly maxResultBytes?: number;
  /** Where results find room. */
  readonly space?: StoreSpace;
}): KeyedStore => {
  const { space = BOUNDLESS_SPACE } = options;
  const scripts = loadKeyedScripts(options.client);
  const answers = createRedisAnswers(options.client, scripts);

  const openComplete = async (batch: KeyedBatch, life: string, known: KnownCalls): Promise<Opening> => {
    const broken = [...known].flatMap(([index, result]) => (parseObject(result) === null ? [index] : []));
    // Their calls ran, and nobody knows any more how they ended: that is for a try of its own to say.
    if (broken.length > 0) return open(batch, broken);
    const results = readResults(batch.calls, (index) => known.get(index));
    if (results === null) throw new Error('A record was changed while it was read.');
    await answers.remember(batch, life, new Map());
    return { kind: 'complete', results };
  };

  const open = async (batch: KeyedBatch, unreadable: readonly number[]): Promise<Opening> => {
    const { recordKey, body, calls } = batch;
    const parameters = [body, String(calls), LEASE, TTL, randomUUID(), ...unreadable.map(String)];
    const opened = Opened.parse(await scripts.open(recordKey, ...parameters));
    if (opened[0] === 'other_body') return { kind: 'other_body' };
    if (opened[0] === 'in_flight') return { kind: 'in_flight', retryAfterMs: opened[1] };
    const life = opened[1];
    const known = await readOn(scripts, { recordKey, life, calls }, opened[0] === 'held' ? opened[3] : opened[2]);
    if (known === null) throw new Error('A record was lost while it was read.');
    if (opened[0] === 'complete') return openComplete(batch, life, known);
    const earlier = toEarlier(known);
    const cap = createResultCap(known.values(), options);
    return {
      kind: 'held',
      record: { earlier, ...createSteps({ batch, life, fence: opened[2], scripts, answers, cap, space }) },
    };
  };

  return { durability: 'durable', open: (batch) => open(batch, []), find: answers.find };
};

const toEarlier = (known: KnownCalls): ReadonlyMap<number, EarlierCall> =>
  new Map(
    [...known].map(([index, result]) => [
      index,
      parseObject(result) === null ? { state: 'started' } : { state: 'committed', result },
    ]),
  );

const createSteps = (parts: {
  readonly batch: KeyedBatch;
  readonly life: string;
  readonly fence: string;
  readonly scripts: KeyedScripts;
  readonly answers: RedisAnswers;
  readonly cap: (result: string) => string;
  readonly space: StoreSpace;
}): Omit<HeldRecord, 'earlier'> => {
  const { batch, life, fence, scripts, cap, space } = parts;
  const finals = new Set<number>();
  const run = async (step: 'start' | 'renew' | 'commit' | 'amend', ...parameters: string[]) =>
    Done.parse(await scripts[step](batch.recordKey, life, fence, ...parameters)) === 1 ? 'held' : 'lost';
  const writePieces = async (pieces: readonly (readonly string[])[]): Promise<'held' | 'lost'> => {
    for (const [position, words] of pieces.entries()) {
      const state = await run('commit', LEASE, TTL, position === pieces.length - 1 ? 'last' : 'more', ...words);
      if (state === 'lost') return state;
    }
    return 'held';
  };
  return {
    start: (index) => run('start', LEASE, String(index)),
    renew: () => run('renew', LEASE),
    commit: async (results) => {
      const capped = results.map((one) => ({ ...one, result: cap(one.result) }));
      const room = capped.length === 0 ? 'kept' : space.reserve('result', batch.recordKey, toBytes(capped));
      // The marks of writes that began stay: none of them runs again.
      const kept = room === 'kept' ? capped : capped.filter(({ kind }) => kind === 'repeatable');
      if ((await writePieces(toPieces(kept))) === 'lost') return 'lost';
      if (room === 'refused') return 'marked';
      for (const index of toFinals(kept)) finals.add(index);
      await parts.answers.remember(batch, life, toOwnResults(kept));
      return 'held';
    },
    amend: async (index, result) => {
      if (!finals.has(index)) return;
      const kept = cap(result);
      if (space.reserve('result', batch.recordKey, Buffer.byteLength(kept)) === 'refused') return;
      await run('amend', String(index), kept);
    },
  };
};

const toBytes = (results: readonly ResultToKeep[]): number =>
  results.reduce((sum, { result }) => sum + Buffer.byteLength(result) + RESULT_BYTES, 0);

// A field of a hash.
const RESULT_BYTES = 64;

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
