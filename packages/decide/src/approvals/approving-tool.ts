import { toReadingTool } from 'recourse-server/executor/invoke-tool';
import type { InlineTool } from 'recourse-server/tools/tool';

/** The tool as it is asked whether a person has to approve a call: it reads, and its value is `ask` or `allow`. What is neither asks. */
export const createApprovingTool = (tool: InlineTool): InlineTool =>
  toReadingTool(tool, (prepared) => {
    if (!prepared.ok) return prepared;
    const { approval } = prepared.invocation;
    return {
      ok: true,
      invocation: { run: async (context) => ((await approval?.(context)) === 'allow' ? 'allow' : 'ask') },
    };
  });
