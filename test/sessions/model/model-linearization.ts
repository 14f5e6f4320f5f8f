import { isDeepStrictEqual } from 'node:util';
import { serialize } from 'node:v8';
import type { Round, RoundReport } from '#src/executor/session-store.ts';
import { toTold } from './model-rounds.ts';
import { type PlainSessionAdmission, PlainSessionModel, type PlainSettings } from './plain-session-model.ts';

/** What a store was asked, and what it answered: one operation of a history. */
export type Played =
  | { readonly kind: 'admit'; readonly round: Round; readonly told: ReturnType<typeof toTold> }
  | {
      readonly kind: 'settle';
      readonly batchId: string;
      readonly report: RoundReport;
      readonly left: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: 'reset'; readonly tool: string | null };

type Replayed = {
  readonly plain: PlainSessionModel;
  readonly admissions: ReadonlyMap<string, PlainSessionAdmission>;
  /** Whether the model answers the last operation as the store did. */
  readonly agrees: boolean;
};

/** Plays a session again, one operation after the other, on a model of its own. */
export const replay = (settings: PlainSettings, history: readonly Played[]): Replayed => {
  const plain = new PlainSessionModel(settings);
  const admissions = new Map<string, PlainSessionAdmission>();
  let isAnswered = (): boolean => true;
  for (const played of history) isAnswered = play(plain, admissions, played);
  return { plain, admissions, agrees: isAnswered() };
};

/** Does it; gives the way to ask whether the model's answer is the store's. */
const play = (
  plain: PlainSessionModel,
  admissions: Map<string, PlainSessionAdmission>,
  played: Played,
): (() => boolean) => {
  if (played.kind === 'reset') {
    plain.reset(played.tool);
    return () => true;
  }
  if (played.kind === 'admit') {
    const admission = plain.admit(played.round);
    admissions.set(played.round.batchId, admission);
    const step = admission.step ?? played.told.step;
    return () => isDeepStrictEqual(toTold({ ...admission, step }, played.round), played.told);
  }
  const admission = admissions.get(played.batchId);
  if (admission === undefined) throw new Error('A batch settles that was never let in.');
  const left = plain.settle(admission, played.report);
  // Where no budget changes, nobody need be told.
  if (left === null && Object.keys(played.left).length === 0) return () => true;
  return () => isDeepStrictEqual(Object.fromEntries(left ?? plain.budgets(admission.round)), played.left);
};

// The number of a new round; null for what may be next whatever else waits.
const toStep = (played: Played): number | null =>
  played.kind === 'admit' && played.round.roundId === null ? played.told.step : null;

// New rounds are numbered in the order in which they were let in.
const mayBeNext = (next: Played, waiting: readonly Played[]): boolean => {
  const step = toStep(next);
  return step === null || waiting.every((other) => (toStep(other) ?? step) >= step);
};

/**
 * All that may have happened where `burst` was asked at once after one of these histories: the orders in which the model
 * gives every answer that was given. Orders that leave the model in one and the same state count once.
 */
export const findOrders = (
  settings: PlainSettings,
  histories: readonly (readonly Played[])[],
  burst: readonly Played[],
): readonly (readonly Played[])[] => {
  const found = new Map<string, readonly Played[]>();
  const seen = new Set<string>();
  const extend = (history: readonly Played[], waiting: readonly Played[]): void => {
    const { plain, agrees } = replay(settings, history);
    if (!agrees) return;
    const state = serialize(plain).toString('latin1');
    const place = `${waiting.map((played) => burst.indexOf(played)).join()} ${state}`;
    if (seen.has(place)) return;
    seen.add(place);
    if (waiting.length === 0) found.set(state, history);
    for (const next of waiting.filter((played) => mayBeNext(played, waiting))) {
      const others = waiting.filter((other) => other !== next);
      extend([...history, next], others);
    }
  };
  for (const history of histories) extend(history, burst);
  return [...found.values()];
};
