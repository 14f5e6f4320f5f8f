import type { HttpAnswer } from '../http-connection.ts';
import type { Verdict } from '../slices/judge-answer.ts';
import { percentileOf } from '../summarise.ts';
import type { PacedResult } from './paced-plan.ts';

/** What has come of the batches so far. */
export type PacedTally = {
  /** An answer, how long after its batch was due it came, and whether the time was not over yet. */
  readonly add: (answer: HttpAnswer, verdict: Verdict, tookMs: number, isInTime: boolean) => void;
  /** What is no answer. */
  readonly addOther: (what: string) => void;
  readonly toCounts: () => Pick<PacedResult, 'answeredInTime' | 'outcomes' | 'p50' | 'p99' | 'p999'>;
};

export const createPacedTally = (): PacedTally => {
  const outcomes = new Map<string, number>();
  const times: number[] = [];
  let answeredInTime = 0;
  const addOther = (what: string): void => void outcomes.set(what, (outcomes.get(what) ?? 0) + 1);
  return {
    add: (answer, verdict, tookMs, isInTime) => {
      addOther(verdict === 'wrong' ? nameOf(answer) : verdict);
      if (verdict === 'wrong') return;
      times.push(tookMs);
      if (isInTime) answeredInTime += 1;
    },
    addOther,
    toCounts: () => {
      const sorted = Float64Array.from(times).sort();
      return {
        answeredInTime,
        outcomes: Object.fromEntries(outcomes),
        p50: percentileOf(sorted, 0.5),
        p99: percentileOf(sorted, 0.99),
        p999: percentileOf(sorted, 0.999),
      };
    },
  };
};

// Looked for, not parsed: the generator must be faster than the service.
const nameOf = ({ status, text }: HttpAnswer): string =>
  status === 200 ? (/"code":"(\w+)"/.exec(text)?.[1] ?? 'no code') : `HTTP ${status}`;
