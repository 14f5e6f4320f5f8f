import { setTimeout as sleep } from 'node:timers/promises';
import type { AskedCall, Use } from './asked-call.ts';
import type { Reservation, Reserved } from './rule-decisions.ts';
import { type RuleStore, TooManyCountsError } from './rule-store.ts';
import { fullText, NO_ROOM_TEXT, RULE_STORE_TEXT } from './rule-text.ts';
import { allOf, type Soon, type Steps } from './steps.ts';

export type ReserveOptions = {
  readonly store: RuleStore;
  /** Unix milliseconds of this machine, for texts. */
  readonly time: () => number;
  readonly onFailed: (error: unknown) => void;
};

// Longer than others may yet be given back, and shorter than callers wait.
const MOST_WAITS = 200;
const LONGEST_WAIT_MS = 20;

/**
 * Reserves what rules count of calls, in the order of the calls: for each call in all its records or in none. The records are asked one after the other,
 * in the order of the rules, each once for all calls: what is reserved in one is tentative until the last has agreed, and who does not
 * fit because of that alone waits for it. As all take them in the same order, no two wait for each other.
 */
export function* reserveCalls(asked: readonly AskedCall[], options: ReserveOptions): Steps<void> {
  const keys = toOrderedKeys(asked);
  let open = asked.filter(isOpen);
  // What was reserved for a pending call, and it is refused before anything is reserved anew.
  if (open.length < asked.length) yield endAll(asked.filter(isGivenUp), options);
  for (let waits = 0; open.length > 0; waits += 1) {
    // The first time it may be a call of this batch alone that is waited for, and that is decided by now.
    if (waits > 1) yield sleep(Math.ceil(Math.random() * Math.min(waits, LONGEST_WAIT_MS)));
    const waiting = new Set<AskedCall>();
    const round = { options, waiting, isLast: waits === MOST_WAITS };
    for (const key of keys) yield reserveIn(key, open, round);
    const decided = waiting.size === 0 ? open : open.filter((call) => !waiting.has(call));
    yield endAll(decided, options);
    open = [...waiting];
  }
}

const isOpen = ({ failure }: AskedCall): boolean => failure === null;
const isGivenUp = ({ failure, previous }: AskedCall): boolean => failure !== null && previous !== null;

const toOrderedKeys = (asked: readonly AskedCall[]): readonly string[] => {
  const places = new Map<string, number>();
  for (const { uses } of asked) for (const { key, rule } of uses) places.set(key, rule.place);
  if (places.size <= 1) return [...places.keys()];
  return [...places]
    .toSorted(([one, place], [other, before]) => place - before || (one < other ? -1 : 1))
    .map(([key]) => key);
};

type Round = { readonly options: ReserveOptions; readonly waiting: Set<AskedCall>; readonly isLast: boolean };
type Place = { readonly asked: AskedCall; readonly use: Use };

/** Asks one record for all calls that it concerns and that may run as yet. */
const reserveIn = (key: string, open: readonly AskedCall[], round: Round): Promise<void> | undefined => {
  const { store, onFailed } = round.options;
  const places = findPlaces(key, open, round);
  const [first] = places;
  if (first === undefined) return undefined;
  const { terms } = first.use.rule;
  const reserved = askSafely(() => store.reserve(key, places.map(toReservation), terms), onFailed);
  return reserved instanceof Promise
    ? reserved.then((later) => noteAll(places, later, round))
    : noteAll(places, reserved, round);
};

const findPlaces = (key: string, open: readonly AskedCall[], { waiting }: Round): readonly Place[] => {
  const places: Place[] = [];
  for (const asked of open) {
    const use = asked.failure === null && !waiting.has(asked) ? asked.uses.find((each) => each.key === key) : undefined;
    if (use !== undefined) places.push({ asked, use });
  }
  return places;
};

const toReservation = ({ asked, use: { rule, amount } }: Place): Reservation => ({
  name: asked.reservation,
  amount,
  endsInMs: asked.call.timeoutMs,
  isTentative: asked.isTentative(rule),
});

const noteAll = (places: readonly Place[], reserved: readonly Reserved[] | NoAnswer, round: Round): undefined => {
  for (const [at, place] of places.entries())
    note(place, reserved instanceof NoAnswer ? reserved : reserved[at], round);
};

const note = (
  { asked, use }: Place,
  reserved: Reserved | NoAnswer | undefined,
  { waiting, isLast, options }: Round,
): void => {
  if (reserved === undefined) throw new Error('A rule gave no decision of a call.');
  if (reserved instanceof NoAnswer) {
    const text = reserved.cause instanceof TooManyCountsError ? NO_ROOM_TEXT : RULE_STORE_TEXT;
    asked.refuse(use.rule, text, 'store_unavailable');
    return;
  }
  use.reserved = reserved.kind === 'held' ? reserved : null;
  if (reserved.kind === 'wait' && !isLast) waiting.add(asked);
  else if (!reserved.fits) asked.refuse(use.rule, fullText(use.rule, reserved, options.time()), 'rule_refused');
};

const endAll = (calls: readonly AskedCall[], options: ReserveOptions): Promise<unknown> | undefined =>
  allOf(calls.flatMap((call) => endReserving(call, options)));

/** Gives back what was reserved for a call that is refused; of one that may run, tells others that it will not be given back. */
const endReserving = (asked: AskedCall, { store, onFailed }: ReserveOptions): readonly Soon<unknown>[] => {
  const { uses, previous, reservation, failure } = asked;
  if (failure === null)
    for (const { key, rule } of uses)
      if (asked.isTentative(rule)) void askSafely(() => store.confirm(key, [reservation]), onFailed);
  // Most calls keep all that was reserved for them.
  if (failure === null && previous === null && uses.every(({ reserved }) => reserved !== null)) return [];
  const kept = new Set(failure === null ? uses.map(({ key }) => key) : []);
  // Where the store gave no answer it may be reserved.
  const mayHold = (use: Use): boolean => use.reserved !== null || failure?.code === 'store_unavailable';
  const all = [...uses.filter(mayHold), ...(previous?.uses ?? [])].map(({ key }) => key);
  const given = new Set(all.filter((key) => !kept.has(key)));
  return [...given].map((key) => askSafely(() => store.release(key, [reservation]), onFailed));
};

/** That the store did not answer, and why. */
export class NoAnswer {
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}

/** What the store answers, if it does. What could not be settled stays reserved until its window ends. */
export const askSafely = <Answer>(
  ask: () => Soon<Answer>,
  onFailed: (error: unknown) => void,
): Soon<Answer | NoAnswer> => {
  const fail = (error: unknown): NoAnswer => {
    onFailed(error);
    return new NoAnswer(error);
  };
  try {
    const answer = ask();
    return answer instanceof Promise ? answer.catch(fail) : answer;
  } catch (error) {
    return fail(error);
  }
};
