import type { JournalEntry } from '#src/contract/session.ts';
import { CallContext } from '#src/executor/call-context.ts';
import type { RunOutcome } from '#src/executor/deadline.ts';
import { createCancellation } from '#src/executor/deadline.ts';
import { invokeTool } from '#src/executor/invoke-tool.ts';
import type { InlineTool } from '#src/tools/tool.ts';

const ignore = (): void => undefined;

/** Runs a reducer that lives in this process as the service does, over these calls. */
export const foldInline = async (reducer: InlineTool, entries: readonly JournalEntry[]): Promise<RunOutcome> => {
  const end = createCancellation(60_000, { isGone: () => false, whenGone: () => ignore }, performance);
  const context = new CallContext({
    requestId: 'r',
    tool: reducer.name,
    callId: null,
    session: null,
    effects: 'read',
    retriesLeft: 0,
    timeoutMs: 1000,
    createLog: () => ({ debug: ignore, info: ignore, warn: ignore, error: ignore }),
  });
  const ran = await invokeTool(reducer, { entries }, { context, timeoutMs: 1000, cancellation: end });
  end.close();
  return ran;
};

/** What it made of them; throws what it threw. */
export const toSlice = async (reducer: InlineTool, entries: readonly JournalEntry[]): Promise<unknown> => {
  const ran = await foldInline(reducer, entries);
  if (ran.kind === 'threw') throw ran.thrown;
  return ran.kind === 'returned' ? ran.value : ran;
};
