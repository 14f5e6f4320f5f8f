import { setTimeout as sleep } from 'node:timers/promises';
import type { AskedCall, Use } from './asked-call.ts';
import type { Reserved } from './rule-decisions.ts';
import { type RuleStore, TooManyCountsError } from './rule-store.ts';
import { fullText, NO_ROOM_TEXT, RULE_STORE_TEXT } from './rule-text.ts';

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
export const reserveCalls = async (asked: readonly AskedCall[], options: ReserveOptions): Promise<void> => {
  const keys = toOrderedKeys(asked);
  let open = asked.filter(({ failure }) => failure === null);
  // What was reserved for a pending call, and it is refused before anything is reserved anew.
  const refused = asked.filter(({ failure, previous }) => failure !== null && previous !== null);
  await Promise.all(refused.map((call) => endReserving(call, options)));
  for (let waits = 0; open.length > 0; waits += 1) {
    // The first time it may be a call of this batch alone that is waited for, and that is decided by now.
    if (waits > 1) await sleep(Math.ceil(Math.random() * Math.min(waits, LONGEST_WAIT_MS)));
    const waiting = new Set<AskedCall>();
    for (const key of keys) await reserveIn(key, open, { waiting, isLast: waits === MOST_WAITS, ...options });
    const decided = open.filter((call) => !waiting.has(call));
    await Promise.all(decided.map((call) => endReserving(call, options)));
    open = [...waiting];
  }
};

const toOrderedKeys = (asked: readonly AskedCall[]): Iterable<string> => {
  const places = new Map(asked.flatMap(({ uses }) => uses.map(({ key, rule }) => [key, rule.place])));
  return [...places]
    .toSorted(([one, place], [other, before]) => place - before || (one < other ? -1 : 1))
    .map(([key]) => key);
};

type InRecord = ReserveOptions & { readonly waiting: Set<AskedCall>; readonly isLast: boolean };

/** Asks one record for all calls that it concerns and that may run as yet. */
const reserveIn = async (key: string, open: readonly AskedCall[], options: InRecord): Promise<void> => {
  const { store, waiting, onFailed } = options;
  const places = open.flatMap((asked) => {
    const use = asked.failure === null && !waiting.has(asked) ? asked.uses.find((each) => each.key === key) : undefined;
    return use === undefined ? [] : [{ asked, use }];
  });
  const [first] = places;
  if (first === undefined) return;
  const reservations = places.map(({ asked, use: { rule, amount } }) => ({
    name: asked.reservation,
    amount,
    endsInMs: asked.call.timeoutMs,
    isTentative: asked.isTentative(rule),
  }));
  try {
    const asking = store.reserve(key, reservations, first.use.rule.terms);
    const reserved = asking instanceof Promise ? await asking : asking;
    for (const [at, place] of places.entries()) note(place, reserved[at], options);
  } catch (error) {
    onFailed(error);
    const text = error instanceof TooManyCountsError ? NO_ROOM_TEXT : RULE_STORE_TEXT;
    for (const { asked, use } of places) asked.refuse(use.rule, text, 'store_unavailable');
  }
};

const note = (
  { asked, use }: { readonly asked: AskedCall; readonly use: Use },
  reserved: Reserved | undefined,
  { waiting, isLast, time }: InRecord,
): void => {
  if (reserved === undefined) throw new Error('A rule gave no decision of a call.');
  use.reserved = reserved.kind === 'held' ? reserved : null;
  if (reserved.kind === 'wait' && !isLast) waiting.add(asked);
  else if (!reserved.fits) asked.refuse(use.rule, fullText(use.rule, reserved, time()), 'rule_refused');
};

/** Gives back what was reserved for a call that is refused; of one that may run, tells others that it will not be given back. */
const endReserving = async (asked: AskedCall, { store, onFailed }: ReserveOptions): Promise<void> => {
  const { uses, previous, reservation, failure } = asked;
  if (failure === null) {
    for (const { key, rule } of uses)
      if (asked.isTentative(rule)) void askSafely(() => store.confirm(key, [reservation]), onFailed);
  }
  const kept = new Set(failure === null ? uses.map(({ key }) => key) : []);
  // Where the store gave no answer it may be reserved.
  const mayHold = (use: Use): boolean => use.reserved !== null || failure?.code === 'store_unavailable';
  const all = [...uses.filter(mayHold), ...(previous?.uses ?? [])].map(({ key }) => key);
  const given = new Set(all.filter((key) => !kept.has(key)));
  await Promise.all([...given].map((key) => askSafely(() => store.release(key, [reservation]), onFailed)));
};

/** What the store answers; `failed` where it does not. What could not be settled stays reserved until its window ends. */
export const askSafely = async <Answer>(
  ask: () => Answer | Promise<Answer>,
  onFailed: (error: unknown) => void,
): Promise<Answer | 'failed'> => {
  try {
    return await ask();
  } catch (error) {
    onFailed(error);
    return 'failed';
  }
};
