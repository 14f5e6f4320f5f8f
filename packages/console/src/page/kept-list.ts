/** A call on a list, or that was on it. `isAsked`: an answer about it is waited for; `answeredAt`: when one came last. */
export type Kept<Call> = { call: Call; isListed: boolean; isAsked: boolean; answeredAt: number };

/** Where a call stands in its list: by what it is known, since when it is there, and whether it is still to be decided. */
type Place = { readonly id: string; readonly since: string | null; readonly isOpen: boolean };

// A tab may be left open for days.
const MAX_KEPT = 500;

/**
 * Takes a reading of a list, of which `total` there are. Every call keeps its place, also one that is not listed any more: no button
 * moves while somebody reaches for it.
 */
export const takeReading = <Call>(
  kept: Map<string, Kept<Call>>,
  calls: readonly Call[],
  total: number,
  placeOf: (call: Call) => Place,
): void => {
  if (kept.size > MAX_KEPT) kept.clear();
  // Behind the last one of a list that is cut nothing is known.
  const last = calls.at(-1);
  const end = total > calls.length ? ((last && placeOf(last).since) ?? '') : null;
  for (const one of kept.values()) {
    const { isOpen, since } = placeOf(one.call);
    one.isListed &&= isOpen && end !== null && (since ?? '') >= end;
  }
  for (const call of calls) takeOne(kept, placeOf(call).id, call);
};

/** Takes what was read of one call, which is on the list. */
export const takeOne = <Call>(kept: Map<string, Kept<Call>>, id: string, call: Call): void => {
  kept.set(id, Object.assign(kept.get(id) ?? { isAsked: false, answeredAt: 0 }, { call, isListed: true }));
};

const JUST_NOW_MS = 60_000;

/**
 * The first that are open, and those of which a person has just now asked something: they see what came of it. Null stands in the
 * place of each other: no button becomes that of another call when one goes.
 */
export const firstOpen = <One extends Kept<unknown>>(
  kept: Iterable<One>,
  isOpen: (one: One) => boolean,
  most: number,
): readonly (One | null)[] => {
  let left = most;
  const isShown = (one: One): boolean =>
    isOpen(one) ? left-- > 0 : one.isAsked || Date.now() - one.answeredAt < JUST_NOW_MS;
  return [...kept].map((one) => (isShown(one) ? one : null));
};
