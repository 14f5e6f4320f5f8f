import { toReadingTool } from 'recourse-server/executor/invoke-tool';
import type { InlineTool, ToolContext } from 'recourse-server/tools/tool';
import { readVerdict } from 'recourse-server/tools/tool-values';
import * as z from 'zod';

/** What a `reconcile` has found, as JSON: the value of a tool that is asked for it. */
export const Finding = z.object({
  verdict: z.enum(['happened', 'did_not_happen', 'unclear']),
  value: z.unknown(),
  message: z.string(),
  retryAfterMs: z.number().nonnegative().nullable(),
  /** What is wrong with the value, which is null then; null: nothing. */
  problem: z.string().nullable(),
});
export type Finding = Readonly<z.infer<typeof Finding>>;

/** The tool as it is asked whether a run that began at that moment took effect: it reads, and its value is a `Finding`. */
export const createReconcilingTool = (tool: InlineTool, startedAt: number): InlineTool =>
  toReadingTool(tool, (prepared) => {
    if (!prepared.ok) return prepared;
    const { reconcile } = prepared.invocation;
    const run = async (context: ToolContext) => describeFinding(tool, await reconcile?.(startedAt, context));
    return { ok: true, invocation: { run } };
  });

const describeFinding = async (tool: InlineTool, returned: unknown): Promise<Finding> => {
  const verdict = readVerdict(returned);
  if (verdict === null)
    throw new TypeError('reconcile must return happened(…), didNotHappen() or unclear(), of recourse-server.');
  const { kind, value, message, retryAfterMs } = verdict;
  const [issue] = kind === 'happened' ? ((await tool.checkOutput?.(value)) ?? []) : [];
  const problem = issue === undefined ? null : issue.message;
  return { verdict: kind, value: problem === null ? (value ?? null) : null, message, retryAfterMs, problem };
};
