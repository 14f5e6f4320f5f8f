import type { HttpAnswer } from './http-connection.ts';
import type { PacedResult } from './paced-plan.ts';
import { percentileOf } from './percentile.ts';

/** What has come of the batches so far. */
export type PacedTally = {
  /** An answer, how long after its batch was sent it came, and whether the time was not over yet. */
  readonly add: (answer: HttpAnswer, tookMs: number, isInTime: boolean) => void;
  /** What is no answer. */
  readonly addOther: (what: string) => void;
  readonly toCounts: () => Pick<
    PacedResult,
    'successesInTime' | 'successes' | 'refused' | 'overloaded' | 'others' | 'successP50' | 'successP99'
  >;
};

export const createPacedTally = (): PacedTally => {
  const others = new Map<string, number>();
  const times: number[] = [];
  let successesInTime = 0;
  let refused = 0;
  let overloaded = 0;
  const addOther = (what: string): void => void others.set(what, (others.get(what) ?? 0) + 1);
  return {
    add: (answer, tookMs, isInTime) => {
      const what = classifyAnswer(answer);
      if (what === 'success') {
        times.push(tookMs);
        if (isInTime) successesInTime += 1;
      } else if (what === 'refused') refused += 1;
      else if (what === 'overloaded') overloaded += 1;
      else addOther(what);
    },
    addOther,
    toCounts: () => {
      const sorted = Float64Array.from(times).sort();
      return {
        successesInTime,
        successes: sorted.length,
        refused,
        overloaded,
        others: Object.fromEntries(others),
        successP50: percentileOf(sorted, 0.5),
        successP99: percentileOf(sorted, 0.99),
      };
    },
  };
};

// Looked for, not parsed: the generator must be faster than the service.
const classifyAnswer = ({ status, body }: HttpAnswer): string => {
  if (status === 503) return 'refused';
  if (status !== 200) return `HTTP ${status}`;
  if (body.includes('"success":true')) return 'success';
  return /"code":"(\w+)"/.exec(body)?.[1] ?? 'no code';
};
