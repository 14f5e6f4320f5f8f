/** Where a run can be. `done` and `failed` are its ends. */
export type State = 'planning' | 'acting' | 'observing' | 'done' | 'failed';

/** What a state says happened; with the state it decides where the run goes next. */
export type Event =
  | 'calls_planned'
  | 'answer_given'
  | 'model_failed'
  | 'results_received'
  | 'service_failed'
  | 'observed'
  | 'budget_gone'
  | 'fatal_failure'
  | 'steps_exhausted';

export type Transitions = Readonly<Partial<Record<State, Readonly<Partial<Record<Event, State>>>>>>;

/** The whole life of a run. What is not in this table cannot happen: it would be a bug, and ends as one. */
export const TRANSITIONS: Transitions = {
  planning: { calls_planned: 'acting', answer_given: 'done', model_failed: 'failed' },
  acting: { results_received: 'observing', service_failed: 'failed' },
  observing: { observed: 'planning', budget_gone: 'failed', fatal_failure: 'failed', steps_exhausted: 'failed' },
};
