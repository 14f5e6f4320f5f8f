import type { Answer } from '../answered-batch.ts';
import type { Batch } from '../batch.ts';
import type { RanCall } from '../call-end.ts';
import type { CallObserver } from '../call-observer.ts';
import type { ReadyCall, ResolvedCall } from '../resolve-call.ts';
import { toBodyDigest } from './body-digest.ts';
import { renameResult, toEarlierEnd, toResultKinds } from './kept-result.ts';
import { type KeyedRun, NOT_RECORDED, type OpenedKey, openKey, withWarning } from './keyed-run.ts';
import type { EarlierCall, KeyedStore, ResultToKeep } from './keyed-store.ts';

type MayUse = Batch['mayUse'];

export type KeyedTerms = { readonly keys: KeyedStore; readonly observer: CallObserver };

/** Opens the record of a batch's key; null where the batch came without one. */
export const openKeyOf = async (
  batch: Batch,
  calls: readonly ResolvedCall[],
  terms: KeyedTerms,
): Promise<OpenedKey | null> => {
  if (batch.idempotency === null) return null;
  const { recordKey, requestKey } = batch.idempotency;
  const opened = await openKey({ recordKey, requestKey, body: toBodyDigest(batch, calls), calls: calls.length }, terms);
  return opened.kind === 'run' ? { ...opened, keyed: keepToolNames(opened.keyed, calls) } : opened;
};

/**
 * Results are kept by their tools' own names, whatever those were called by: rights go by the tool, also when it has
 * gone and nobody can say any more what another name stood for.
 */
const keepToolNames = (keyed: KeyedRun, calls: readonly ResolvedCall[]): KeyedRun => {
  if (!calls.some(isAlias)) return keyed;
  const toKept = (index: number, result: string): string => {
    const call = calls[index];
    return call !== undefined && isAlias(call) ? renameResult(result, call.tool.name) : result;
  };
  return {
    ...keyed,
    finish: (results) => keyed.finish(results.map((kept) => ({ ...kept, result: toKept(kept.index, kept.result) }))),
    amend: (index, result) => keyed.amend(index, toKept(index, result)),
  };
};

const isAlias = (call: ResolvedCall): call is ReadyCall => call.kind === 'ready' && call.name !== call.tool.name;

/** The ends that an earlier try of the batch left, by index. */
export const toEarlierEnds = (
  calls: readonly ResolvedCall[],
  opened: Extract<OpenedKey, { kind: 'run' | 'complete' }>,
  { observer, mayUse }: { readonly observer: CallObserver; readonly mayUse: MayUse },
): ReadonlyMap<number, RanCall> => {
  const earlier = opened.kind === 'run' ? opened.keyed.earlier : toCommitted(opened.results);
  const ends = new Map<number, RanCall>();
  for (const [index, kept] of earlier) {
    const call = calls[index];
    const end = call === undefined ? null : toEarlierEnd(kept, call, mayUse);
    if (end === null) continue;
    ends.set(index, end);
    if (end.kept === undefined && end.withheld !== true) observer.keyUsed('unknown');
  }
  return ends;
};

const toCommitted = (results: readonly string[]): ReadonlyMap<number, EarlierCall> =>
  new Map(results.map((result, index) => [index, { state: 'committed', result }]));

/** Keeps the results before they are answered. Where that fails they say so. */
export const keepResults = async (answers: readonly Answer[], keyed: KeyedRun): Promise<readonly string[]> => {
  const results = answers.map(({ result }) => result);
  if (keyed.state === 'away') return results;
  const kinds = toResultKinds(answers.map(({ ran }) => ran.end));
  const own = answers.flatMap(({ call, ran }, place): readonly ResultToKeep[] =>
    ran.kept === undefined && ran.withheld !== true
      ? [{ index: call.index, result: results[place] ?? 'null', kind: kinds[place] ?? 'final' }]
      : [],
  );
  const state = await keyed.finish(own);
  return state === 'held' ? results : results.map((result) => withWarning(result, NOT_RECORDED));
};
