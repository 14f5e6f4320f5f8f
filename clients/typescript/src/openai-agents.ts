import { type Tool, tool } from '@openai/agents';
import type { Recourse, RecourseSession } from './create-recourse.ts';

/**
 * The service's tools for the OpenAI Agents SDK, executed in the session. The model always reads an answer: see
 * `answerCall`. The calls of a turn are one round of the retry budget.
 */
export const toOpenAiAgentsTools = async (recourse: Recourse, session: RecourseSession): Promise<Tool[]> => {
  const catalogue = await recourse.tools('openai-responses');
  return catalogue.map(({ name, description, parameters }) =>
    tool({
      ...{ name, description, strict: false },
      parameters: toParameters(parameters),
      // An error is one that no model can mend, such as a key that was revoked: it ends the run.
      errorFunction: null,
      execute: async (input: unknown, context, { toolCall, signal } = {}) => {
        const call = { id: toolCall?.callId, name, arguments: toolCall?.arguments ?? input };
        const roundId = context === undefined ? undefined : String(context.usage.requests);
        return (await session.answerCall(call, { roundId, signal })).text;
      },
    }),
  );
};

type Parameters = {
  type: 'object';
  properties: Record<string, object>;
  required: string[];
  additionalProperties: true;
};

// The SDK hands schemas on as they are; its type knows only those that allow further properties.
const isParameters = (schema: object): schema is Parameters => 'type' in schema && schema.type === 'object';

const toParameters = (schema: object): Parameters => {
  if (isParameters(schema)) return schema;
  throw new TypeError('The parameters of a tool are not an object.');
};
