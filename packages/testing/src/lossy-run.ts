import { failed, toFailure } from 'recourse-server/executor/call-outcome';
import type { Cancellation, RunHosted, RunOutcome } from 'recourse-server/executor/deadline';
import { invokeTool, toCheckingTool } from 'recourse-server/executor/invoke-tool';
import { type InlineTool, isSafe, type Tool } from 'recourse-server/tools/tool';
import type { Loss } from './tester.ts';

/**
 * Runs handlers in this process as if theirs died over them: before a handler begins, when it has ended, or when a signal aborts.
 * What a dead one goes on to do counts for nothing.
 */
export const createLossyRun =
  (findTool: (name: string) => Tool | undefined, lose: Loss): RunHosted =>
  async (hosted, input, { context, timeoutMs, cancellation }) => {
    const tool = findTool(hosted.name);
    if (tool?.runsIn !== 'service') throw new Error(`There is no tool '${hosted.name}'.`);
    const run = (which: InlineTool, until: Cancellation) =>
      invokeTool(which, input, { context, timeoutMs, cancellation: until });
    if (lose === 'answer') return dieOver(await run(tool, cancellation), tool);
    if (lose === 'run' || lose.aborted) return dieOver(await run(toCheckingTool(tool), cancellation), tool);
    const ran = await run(tool, withKill(cancellation, lose));
    return lose.aborted ? dieOver(ran, tool) : ran;
  };

/** The end of a process over its handler; what was known without a handler, or before it ended, stays. */
const dieOver = (ran: RunOutcome, tool: InlineTool): RunOutcome => {
  if (ran.kind === 'invalid_arguments' || ran.kind === 'timed_out') return ran;
  const next = isSafe(tool)
    ? 'It is safe to call it again; other arguments may help.'
    : 'It may or may not have taken effect. Check before calling it again.';
  const text = `Tool '${tool.name}' crashed while running. ${next}`;
  return { kind: 'ended', outcome: failed(toFailure('tool_crashed', text, tool)) };
};

const withKill = (cancellation: Cancellation, signal: AbortSignal): Cancellation => ({
  causeAt: (moment) => cancellation.causeAt(moment),
  remainingAt: (moment) => cancellation.remainingAt(moment),
  startTimer: cancellation.startTimer,
  onCancel: (listener) => {
    const unsubscribe = cancellation.onCancel(listener);
    const kill = (): void => listener('shutdown');
    // The handler itself may have aborted it before it gave a promise.
    if (signal.aborted) queueMicrotask(kill);
    signal.addEventListener('abort', kill, { once: true });
    return () => {
      unsubscribe();
      signal.removeEventListener('abort', kill);
    };
  },
});
