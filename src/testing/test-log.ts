import type { CreateCallLog } from '../executor/call-context.ts';
import type { FailureLog } from '../executor/call-observer.ts';

/** A line that a handler wrote by `context.log`. */
export type TestLogLine = {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  /** As the handler gave them; `{}` where it gave none. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly tool: string;
  /** The id of the call; null where it has none. */
  readonly callId: string | number | null;
};

/** Keeps what handlers log, and what they threw. */
export type TestLog = {
  readonly lines: readonly TestLogLine[];
  readonly createLog: CreateCallLog;
  readonly writeFailure: FailureLog['write'];
  /** What was thrown in the failure of this reference; undefined where nothing was. */
  readonly thrownUnder: (reference: string) => unknown;
};

export const createTestLog = (): TestLog => {
  const lines: TestLogLine[] = [];
  const thrown = new Map<string, unknown>();
  let references = 0;
  return {
    lines,
    createLog: ({ tool, callId }) => {
      const write =
        (level: TestLogLine['level']) =>
        (message: string, fields: Readonly<Record<string, unknown>> = {}): void =>
          void lines.push({ level, message, fields, tool, callId });
      return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
    },
    writeFailure: (_call, failure) => {
      references += 1;
      const reference = `failure-${references}`;
      if (failure.thrown !== undefined) thrown.set(reference, failure.thrown);
      return reference;
    },
    thrownUnder: (reference) => thrown.get(reference),
  };
};
