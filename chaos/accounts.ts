/** What is promised as a count that must be 0: what an offence is called in the report. */
export const PROMISES = {
  server_error: '5xx answers other than 503',
  bare_503: '503 without a problem body or Retry-After',
  accepted_503: '503 for a batch that had been accepted',
  lost_batch: 'accepted batches whose answer broke off or never came',
  wrong_status: 'answers with a status that the request does not explain',
  lost_result: 'results lost, doubled, out of place or for another call',
  invalid_result: 'answers and results that break the contract',
  wrong_code: 'bad calls that ended in a way their tool cannot end',
  good_failed: 'good calls that failed without a reason of the rules',
  wrong_value: "values that are another call's",
  late_answer: 'answers later than 2 s after their deadline',
  written_twice: 'write calls that ran twice',
  yes_unwritten: 'write calls answered `executed: yes` that never ran',
  no_written: 'write calls answered `executed: no` that ran',
  keyed_twice: 'keyed write calls that ran twice',
  keyed_unwritten: 'keyed write calls answered `executed: yes` that never ran',
  keyed_no_written: 'keyed write calls answered `executed: no` each time that ran',
  keyed_replay: 'repeats that do not replay the answer seen before',
  keyed_conflict: '409 without Retry-After or without a reason',
  result_forgotten: 'answers to keyed batches that cannot be asked for by their request id',
  over_budget: 'failing calls that ran beyond the budget of their session',
  bad_session: 'sessions that cannot be read as the contract says',
  service_bug: 'bugs of the service in its answers, metrics and log',
  bad_exit: 'replicas that ended untold, too late or not with 0',
  change_ignored: 'changed tool files not taken over within 10 s',
  process_left: 'processes left after the end',
} as const;

export type PromiseName = keyof typeof PROMISES;

const isPromiseName = (name: string): name is PromiseName => Object.hasOwn(PROMISES, name);

export const PROMISE_NAMES: readonly PromiseName[] = Object.keys(PROMISES).filter(isPromiseName);

// Enough to begin with; a broken promise may be broken ten thousand times.
const MAX_EVIDENCE = 8;

/** What was counted, and every offence with its evidence. */
export type Accounts = {
  readonly add: (what: string, by?: number) => void;
  readonly countOf: (what: string) => number;
  /** All that was counted under names that begin so, in the order of the names. */
  readonly startingWith: (beginning: string) => readonly (readonly [string, number])[];
  readonly offend: (promise: PromiseName, evidence: string) => void;
  readonly offencesOf: (promise: PromiseName) => number;
  readonly allOffences: () => number;
  readonly evidenceOf: (promise: PromiseName) => readonly string[];
  /** Of calls that succeed and of whole batches, in milliseconds. */
  readonly durations: { readonly inline: number[]; readonly hosted: number[]; readonly batches: number[] };
};

export const createAccounts = (): Accounts => {
  const counts = new Map<string, number>();
  const offences = new Map<PromiseName, { count: number; readonly evidence: string[] }>();
  return {
    add: (what, by = 1) => void counts.set(what, (counts.get(what) ?? 0) + by),
    countOf: (what) => counts.get(what) ?? 0,
    startingWith: (beginning) =>
      [...counts].filter(([what]) => what.startsWith(beginning)).sort(([one], [other]) => (one < other ? -1 : 1)),
    offend: (promise, evidence) => {
      const found = offences.get(promise) ?? { count: 0, evidence: [] };
      offences.set(promise, found);
      found.count += 1;
      if (found.evidence.length < MAX_EVIDENCE) found.evidence.push(evidence.slice(0, 600));
    },
    offencesOf: (promise) => offences.get(promise)?.count ?? 0,
    allOffences: () => [...offences.values()].reduce((sum, { count }) => sum + count, 0),
    evidenceOf: (promise) => offences.get(promise)?.evidence ?? [],
    durations: { inline: [], hosted: [], batches: [] },
  };
};
