import type { Event, State, Transitions } from './states.ts';

/** A state said something that its row of the table does not know. */
export class InvalidTransition extends Error {
  override readonly name: string = 'InvalidTransition';
  readonly from: State;
  readonly event: Event;

  constructor(from: State, event: Event) {
    super(`There is no transition for (${from}, ${event}).`);
    this.from = from;
    this.event = event;
  }
}

/** The table leads to a state that nobody handles. */
export class NoHandlerForState extends Error {
  override readonly name: string = 'NoHandlerForState';
  readonly state: State;

  constructor(state: State) {
    super(`There is no handler for the state '${state}'.`);
    this.state = state;
  }
}

/** The machine went round more often than any run that counts its steps could. */
export class SafetyCapExceeded extends Error {
  override readonly name: string = 'SafetyCapExceeded';
  readonly cap: number;

  constructor(cap: number) {
    super(`The run was stopped after ${cap} iterations: its states go round without counting steps.`);
    this.cap = cap;
  }
}

/** Does the work of one state and says what happened. */
export type StateHandler = () => Event | Promise<Event>;

export type StateMachine = {
  readonly transitions: Transitions;
  readonly handlers: Readonly<Partial<Record<State, StateHandler>>>;
  /** Most iterations of one run; a net under the step cap, which should always end a run before. */
  readonly safetyCap: number;
  readonly onTransition: (from: State, event: Event, to: State) => void;
};

const isEnd = (state: State): state is 'done' | 'failed' => state === 'done' || state === 'failed';

/**
 * Runs from `planning` to an end. Rejects only with a bug of the machine itself (`InvalidTransition`,
 * `NoHandlerForState`, `SafetyCapExceeded`) or with what a handler threw; everything else is an event.
 */
export const runStateMachine = async (machine: StateMachine): Promise<'done' | 'failed'> => {
  let state: State = 'planning';
  for (let iteration = 0; iteration < machine.safetyCap; iteration += 1) {
    const handle: StateHandler | undefined = machine.handlers[state];
    if (handle === undefined) throw new NoHandlerForState(state);
    const event: Event = await handle();
    const next: State | undefined = machine.transitions[state]?.[event];
    if (next === undefined) throw new InvalidTransition(state, event);
    machine.onTransition(state, event, next);
    if (isEnd(next)) return next;
    state = next;
  }
  throw new SafetyCapExceeded(machine.safetyCap);
};
