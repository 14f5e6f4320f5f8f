import type { JournalEntry } from '../contract/session.ts';

/** A named pure fold over the calls of a session; what it makes of them is a slice of the session's view. */
export type Reducer<State = unknown> = {
  /** 1 to 64 of `A–Z a–z 0–9 _ . -`, unique in the service. */
  readonly name: string;
  readonly initial: State;
  /** Gives the next state, which must be JSON. Sees every call once, oldest first. */
  readonly reduce: (state: State, entry: JournalEntry) => State;
};
