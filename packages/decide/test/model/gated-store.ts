import type { DueIndex } from '@recourse/background/jobs/due-index';
import type { Decide, RecordStore, Records } from 'recourse-server/store/record-store';
import { type Effect, effectKind, type StoredEffect } from '#src/effects/effect-kind.ts';
import type { Change } from './expectations.ts';
import type { Life, Machine } from './machine.ts';

/** What a step is asked for by: it is read when the step is asked for. */
export type Cause = Pick<Change, 'begins' | 'ends'>;

type Gate = {
  readonly machine: Machine;
  readonly life: Life;
  readonly cause: () => Cause;
  readonly onChange: (change: Change) => void;
  readonly onAnswer: (cause: Cause) => void;
};

const isEffect = (state: unknown): state is StoredEffect =>
  typeof state === 'object' && state !== null && 'effect' in state;

const copy = (state: unknown): Effect | null => (isEffect(state) && state.effect !== null ? { ...state.effect } : null);

/** The same store, of which each step waits for the machine. */
export const gateStore = (store: RecordStore, gate: Gate): RecordStore => ({
  now: store.now,
  open: (kind) => gateRecords(store.open(kind), kind.name === effectKind.name, gate),
});

const gateRecords = <State>(
  records: Records<State>,
  isWatched: boolean,
  { machine, life, cause, onChange, onAnswer }: Gate,
): Records<State> => ({
  update: (key, decide, timeout) => {
    if (!isWatched) return machine.ask(life, () => records.update(key, decide, timeout));
    const causes = cause();
    if (causes.ends !== null) causes.ends.isEndAsked = true;
    let change: Change | null = null;
    // It may be decided several times, of which the last one counts.
    const watched: typeof decide = (state, now) => {
      const before = copy(state);
      const result = decide(state, now);
      change = { before, after: copy(state), now, ...causes };
      return result;
    };
    const answered = machine.ask(life, async () => {
      const result = await records.update(key, watched, timeout);
      if (change !== null) onChange(change);
      return result;
    });
    answered.then(
      () => onAnswer(causes),
      () => undefined,
    );
    return answered;
  },
  read: <Result>(key: string, look: Decide<State, Result>, only?: readonly string[]) =>
    machine.ask(life, () => records.read(key, look, only)),
  list: (key, count) => machine.ask(life, () => records.list(key, count)),
  delete: (key) => machine.ask(life, () => records.delete(key)),
});

/** The same index, of which each step waits for the machine. */
export const gateIndex = (index: DueIndex, machine: Machine, life: Life): DueIndex => ({
  enter: (...words) => machine.ask(life, () => index.enter(...words)),
  enterAgain: (...words) => machine.ask(life, () => index.enterAgain(...words)),
  leave: (...words) => machine.ask(life, () => index.leave(...words)),
  popDue: (...words) => machine.ask(life, () => index.popDue(...words)),
  putOff: (...words) => machine.ask(life, () => index.putOff(...words)),
  list: () => index.list(),
});
