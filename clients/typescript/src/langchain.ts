import { ToolMessage } from '@langchain/core/messages';
import { type StructuredToolInterface, tool } from '@langchain/core/tools';
import type { Recourse, RecourseSession } from './create-recourse.ts';

/**
 * The service's tools for LangChain and LangGraph (`ToolNode`, `createAgent`), executed in the session. The model always
 * reads an answer: see `answerCall`. The calls of a step of a graph are one round of the retry budget.
 */
export const toLangChainTools = async (
  recourse: Recourse,
  session: RecourseSession,
): Promise<StructuredToolInterface[]> => {
  const catalogue = await recourse.tools('openai-chat');
  return catalogue.map(({ function: { name, description, parameters } }) =>
    tool(
      async (input: unknown, { toolCall, metadata, signal }) => {
        const step: unknown = metadata?.['langgraph_step'];
        const roundId = step === undefined ? undefined : String(step);
        const call = { id: toolCall?.id, name, arguments: input };
        const { text, isError } = await session.answerCall(call, { roundId, signal });
        if (toolCall?.id === undefined) return text;
        return new ToolMessage({
          content: text,
          name,
          tool_call_id: toolCall.id,
          status: isError ? 'error' : 'success',
        });
      },
      { name, description, schema: parameters },
    ),
  );
};
