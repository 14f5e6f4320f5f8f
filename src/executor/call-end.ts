import type { Executed } from '../contract/failure.ts';
import type { Warning } from '../contract/tool-result.ts';
import type { Failure } from './failure.ts';

/** How a call ended, with its value already proved to be JSON. */
export type CallEnd =
  | {
      readonly kind: 'success';
      readonly valueJson: string;
      readonly message: string;
      readonly executed: Executed;
      readonly marks: readonly ('empty' | 'truncated')[];
      readonly warnings: readonly Warning[];
    }
  | { readonly kind: 'failure'; readonly failure: Failure; readonly valueJson: string };

/** A call and its end; `late` settles when a handler that was left running really ends. */
export type RanCall = {
  /** Loses its value where the answer has no room for it: see answer-size.ts. */
  end: CallEnd;
  readonly durationMs: number;
  /** What its handler came to after all; null where nobody will ever know. Never rejects. */
  readonly late: Promise<CallEnd | null> | null;
  /** The end as its caller reads it, where that differs: with the secrets that the caller itself sent. */
  readonly told?: CallEnd;
  /** The result of an earlier try of the same batch, as JSON text, in whose place nothing ran now. */
  readonly kept?: string;
  /** An earlier try has another end of it on record, which this caller may not see and the record goes on to keep. */
  readonly withheld?: true;
};

export const failed = (failure: Failure, valueJson = 'null'): CallEnd => ({ kind: 'failure', failure, valueJson });

/** A call that did not run, for that reason. */
export const unstarted = (failure: Failure): RanCall => ({ end: failed(failure), durationMs: 0, late: null });
