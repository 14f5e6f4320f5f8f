import { pino } from 'pino';
import type { FailureCode } from 'recourse-server/contract/failure';
import type { ToolInvoked } from 'recourse-server/executor/call-observer';
import { type Failure, toFailure } from 'recourse-server/executor/call-outcome';
import { UNLIMITED_SPACE } from 'recourse-server/sessions/store-space';
import type { RecordStore } from 'recourse-server/store/record-store';
import { beginFigures } from '#src/figures/figures.ts';

/** One call of a test. */
export type Call = {
  readonly tenant?: string;
  readonly tool: string;
  readonly code?: FailureCode;
  readonly ms?: number;
  readonly message?: string;
};

export const everything = (): boolean => true;

const eventOf = (tenant: string, tool: string, failure: Failure): ToolInvoked => ({
  ...{ requestId: 'request', traceId: null, tenant, key: null, session: null, index: 0, callId: null, tool },
  ...{ success: false, outcome: failure.outcome, executed: failure.executed, code: failure.code, fault: null },
  ...{ fatal: false, replayed: false, durationMs: 0, message: failure.message, valueJson: 'null' },
});

/** The figures of a process whose records are in this store; the store's time is theirs. */
export const openReplica = (records: RecordStore, durability: 'process' | 'durable' = 'durable') => {
  const { watch, open } = beginFigures();
  const figures = open({
    backend: { records, space: UNLIMITED_SPACE, durability },
    log: pino({ level: 'silent' }),
    time: records.now,
  });
  return {
    ...figures,
    call: ({ tenant = 'acme', tool, code, ms = 1, message = 'It failed.' }: Call): void => {
      const failure = code === undefined ? null : toFailure(code, message, null);
      watch.answered(tenant, tool, failure, ms);
      if (failure !== null)
        watch.failed(eventOf(tenant, tool, failure), failure, { name: tool, reference: `of ${message}` }, null);
    },
    /** Writes what it has counted. */
    write: figures.close,
  };
};
