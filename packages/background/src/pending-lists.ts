import type { CallSpec } from 'recourse-server/executor/pending-calls';
import type { OpenCall, PendingFilter, PendingLists } from 'recourse-server/routes/pending-calls';
import { type CallRecord, handleOf, KEY_HOLDER } from './calls/call-kind.ts';
import type { CallRecords } from './calls/call-records.ts';
import { StoreKeyMissingError } from './calls/call-seals.ts';
import type { DueEntry } from './jobs/due-index.ts';

// Each is one to three commands: the store and the event loop serve others between two parts.
const READ_AT_ONCE = 50;
const ENDED_AT_ONCE = 10;

export const createPendingLists = ({
  records,
  onFailed,
  end,
  closed,
}: {
  readonly records: Pick<CallRecords, 'live' | 'describe' | 'cancel'>;
  readonly onFailed: (error: unknown) => void;
  /** Ends a call that no worker runs, by what its record says. */
  readonly end: (key: string, call: Pick<CallSpec, 'tenant' | 'tool'>) => Promise<void>;
  readonly closed: AbortSignal;
}): PendingLists => {
  const find = async function* (
    filter: PendingFilter,
  ): AsyncIterable<readonly (OpenCall & { readonly key: string })[]> {
    for await (const part of records.live.list()) {
      const keys = part.filter((call) => mayFit(call, filter)).map(({ key }) => key);
      for (const some of inParts(keys, READ_AT_ONCE)) yield await readFitting(some, filter, records);
    }
  };
  const endAll = async (calls: readonly Cancelled[]): Promise<void> => {
    for (const some of inParts(calls, ENDED_AT_ONCE)) {
      if (closed.aborted) return;
      await Promise.all(some.map(({ key, ...call }) => end(key, call).catch(onFailed)));
    }
  };
  return {
    list: async (filter, most) => {
      const found: OpenCall[] = [];
      let total = 0;
      for await (const calls of find(filter)) {
        total += calls.length;
        found.push(...calls.slice(0, Math.max(0, most - found.length)));
      }
      const since = ({ record }: OpenCall): number => record.spec.acceptedAt;
      return { calls: found.toSorted((one, other) => since(one) - since(other)), total };
    },
    cancel: async (filter, how) => {
      const cancelled: Cancelled[] = [];
      let running = 0;
      for await (const calls of find(filter)) {
        const noted = await Promise.all(calls.map(({ key }) => records.cancel(key, how)));
        running += noted.filter((record) => record?.state === 'running').length;
        cancelled.push(...calls.flatMap(({ key }, place) => toCancelled(key, noted[place] ?? null)));
      }
      void endAll(cancelled);
      return { cancelled: cancelled.length, running };
    },
  };
};

type Cancelled = { readonly key: string } & Pick<CallSpec, 'tenant' | 'tool'>;

// Only what ends it is remembered: there may be tens of thousands.
const toCancelled = (key: string, record: CallRecord | null): readonly Cancelled[] =>
  record?.state === 'queued' && record.spec !== null
    ? [{ key, tenant: record.spec.tenant, tool: record.spec.tool }]
    : [];

const mayFit = ({ key, holder }: DueEntry, { tenant, keyHash }: PendingFilter): boolean =>
  key.startsWith(`${tenant}:`) && (keyHash === null || holder.startsWith(KEY_HOLDER + keyHash));

const readFitting = async (
  keys: readonly string[],
  { tool, caller, mayUse }: PendingFilter,
  records: Pick<CallRecords, 'describe'>,
): Promise<readonly (OpenCall & { readonly key: string })[]> => {
  const read = await Promise.all(keys.map(async (key) => ({ key, record: await records.describe(key) })));
  return read.flatMap(({ key, record }) => {
    if (record === null) return [];
    const { state, spec } = record;
    if (state === 'ended') return [];
    // Whether it fits is sealed, and to leave it out could leave a call to a key that leaked.
    if (spec === null) throw new StoreKeyMissingError('This process lacks the key that a pending call is sealed with.');
    const fits = spec.caller === caller && (tool === null || spec.tool === tool) && mayUse(spec.tool);
    return fits ? [{ key, handle: handleOf(key), record: { state, spec } }] : [];
  });
};

const inParts = <Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, part) => items.slice(part * size, (part + 1) * size));
