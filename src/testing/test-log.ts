import type { CreateCallLog } from '../executor/call-context.ts';
import type { FailureLog } from '../executor/call-observer.ts';
import type { TestLogLine } from './tester.ts';

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
