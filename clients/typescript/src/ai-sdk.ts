import { dynamicTool, jsonSchema, type ToolSet } from 'ai';
import type { Recourse, RecourseSession } from './create-recourse.ts';

/**
 * The service's tools for Vercel's AI SDK (`generateText`, `streamText`, agents), executed in the session. The model always
 * reads an answer: see `answerCall`. The calls of a step are one round of the retry budget.
 */
export const toAiSdkTools = async (recourse: Recourse, session: RecourseSession): Promise<ToolSet> => {
  const catalogue = await recourse.tools('openai-chat');
  return Object.fromEntries(
    catalogue.map(({ function: { name, description, parameters } }) => [
      name,
      dynamicTool({
        description,
        inputSchema: jsonSchema(parameters),
        execute: async (input, { toolCallId, messages, abortSignal }) => {
          const call = { id: toolCallId, name, arguments: input };
          const { text } = await session.answerCall(call, { roundId: String(messages.length), signal: abortSignal });
          return text;
        },
      }),
    ]),
  );
};
