import type { InlineTool, Prepared } from 'recourse-server/tools/tool';
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
export const createReconcilingTool = (tool: InlineTool, startedAt: number): InlineTool => {
  const toLooking = (prepared: Prepared): Prepared => {
    if (!prepared.ok) return prepared;
    const { reconcile } = prepared.invocation;
    return {
      ok: true,
      invocation: { run: async (context) => describeFinding(tool, await reconcile?.(startedAt, context)) },
    };
  };
  return {
    ...tool,
    effects: 'read',
    checkOutput: null,
    extractError: null,
    prepare: (input) => {
      const prepared = tool.prepare(input);
      return prepared instanceof Promise ? prepared.then(toLooking) : toLooking(prepared);
    },
  };
};

const describeFinding = async (tool: InlineTool, returned: unknown): Promise<Finding> => {
  const verdict = readVerdict(returned);
  if (verdict === null)
    throw new TypeError('reconcile must return happened(…), didNotHappen() or unclear(), of recourse-server.');
  const { kind, value, message, retryAfterMs } = verdict;
  const [issue] = kind === 'happened' ? ((await tool.checkOutput?.(value)) ?? []) : [];
  const problem = issue === undefined ? null : issue.message;
  return { verdict: kind, value: problem === null ? (value ?? null) : null, message, retryAfterMs, problem };
};
