import type Anthropic from '@anthropic-ai/sdk';
import type { ConverseCommandOutput } from '@aws-sdk/client-bedrock-runtime';
import type { Content, GenerateContentResponse } from '@google/genai';
import type { StoredMessage, ToolCall } from '@langchain/core/messages';
import type { ChatCompletionResponse } from '@mistralai/mistralai/models/components';
import type { AssistantModelMessage } from 'ai';
import type { Cohere } from 'cohere-ai';
import type { ChatResponse } from 'ollama';
import type OpenAI from 'openai';
import type { ResponseDoneEvent } from 'openai/resources/realtime/realtime';

export type PublishedCall = { readonly id: string; readonly name: string; readonly arguments: string };

const toObject = (json: string): Record<string, unknown> => {
  const value: unknown = JSON.parse(json);
  return Object.fromEntries(typeof value === 'object' && value !== null ? Object.entries(value) : []);
};

/** What OpenAI's chat completions answer when a model calls tools. */
export const chatCompletion = (calls: readonly PublishedCall[]) =>
  ({
    id: 'chatcmpl-CqS7vT3n',
    object: 'chat.completion',
    created: 1_793_870_000,
    model: 'gpt-5.2',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: null,
          refusal: null,
          annotations: [],
          tool_calls: calls.map((call) => ({
            id: call.id,
            type: 'function' as const,
            function: { name: call.name, arguments: call.arguments },
          })),
        },
        logprobs: null,
        finish_reason: 'tool_calls',
      },
    ],
    usage: { prompt_tokens: 321, completion_tokens: 42, total_tokens: 363 },
  }) satisfies OpenAI.ChatCompletion;

/** What OpenAI's responses answer, without what no client reads here. */
export const openaiResponse = (calls: readonly PublishedCall[]) => {
  const output: OpenAI.Responses.ResponseOutputItem[] = [
    { id: 'rs_68e0', type: 'reasoning', summary: [] },
    ...calls.map((call, index) => ({
      id: `fc_68e0${index}`,
      type: 'function_call' as const,
      call_id: call.id,
      name: call.name,
      arguments: call.arguments,
      status: 'completed' as const,
    })),
  ];
  return {
    id: 'resp_68e0',
    object: 'response',
    created_at: 1_793_870_000,
    model: 'gpt-5.2',
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    output,
    output_text: '',
    parallel_tool_calls: true,
    status: 'completed',
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
  } satisfies Partial<OpenAI.Responses.Response>;
};

/** What Anthropic's messages answer, as far as every version of the client knows it. */
export const anthropicMessage = (calls: readonly PublishedCall[]) =>
  ({
    id: 'msg_01XFDUDYJgAACzvnptvVoYEL',
    type: 'message',
    role: 'assistant',
    model: 'claude-opus-5',
    content: [
      { type: 'text', text: 'I will look into the workspace.', citations: null },
      ...calls.map((call) => ({
        type: 'tool_use' as const,
        id: call.id,
        name: call.name,
        input: toObject(call.arguments),
        caller: { type: 'direct' as const },
      })),
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
  }) satisfies Partial<Anthropic.Message>;

/** What Gemini answers; it gives ids only where several calls could be mixed up. */
export const geminiResponse = (calls: readonly PublishedCall[]) => {
  const content: Content = {
    role: 'model',
    parts: [
      ...calls.map(({ id, name, arguments: given }, index) => ({
        functionCall: { ...(calls.length === 1 ? {} : { id }), name, args: toObject(given) },
        ...(index === 0 ? { thoughtSignature: 'CiQB4/H/Xg==' } : {}),
      })),
    ],
  };
  return {
    candidates: [{ content, index: 0 }],
    usageMetadata: { promptTokenCount: 321, candidatesTokenCount: 42, totalTokenCount: 363 },
    modelVersion: 'gemini-3-pro',
    responseId: 'k3wPaYn0',
  } satisfies Partial<GenerateContentResponse>;
};

/** What Vapi posts to a tool's server: https://docs.vapi.ai/tools/custom-tools. */
export const vapiServerMessage = (calls: readonly PublishedCall[]) => ({
  message: {
    timestamp: 1_793_870_000_000,
    type: 'tool-calls',
    toolCallList: calls.map((call) => ({ id: call.id, name: call.name, arguments: toObject(call.arguments) })),
    toolWithToolCallList: calls.map((call) => ({
      type: 'function',
      name: call.name,
      parameters: { type: 'object', properties: {} },
      server: { url: 'https://recourse.example.com/tool-calls' },
      messages: [],
      toolCall: {
        id: call.id,
        type: 'function',
        function: { name: call.name, parameters: toObject(call.arguments) },
      },
    })),
    artifact: { messages: [] },
    call: { id: '5c4d030f', orgId: 'org-1', type: 'webCall' },
  },
});

/** An AIMessage as LangChain stores it. */
export const langchainMessage = (calls: readonly PublishedCall[]) => {
  const toolCalls: ToolCall[] = calls.map((call) => ({
    name: call.name,
    args: toObject(call.arguments),
    id: call.id,
    type: 'tool_call',
  }));
  const data = { content: '', role: undefined, name: undefined, tool_call_id: undefined };
  const stored = { type: 'ai', data: { ...data, tool_calls: toolCalls, invalid_tool_calls: [] } };
  return stored satisfies StoredMessage;
};

/** The event that ends a response of OpenAI's Realtime API. */
export const realtimeEvent = (calls: readonly PublishedCall[]) =>
  ({
    type: 'response.done',
    event_id: 'event_CCXHM8jD',
    response: {
      object: 'realtime.response',
      id: 'resp_CCXHLsXo',
      status: 'completed',
      output_modalities: ['audio'],
      output: calls.map((call, index) => ({
        id: `item_CCXHM${index}`,
        object: 'realtime.item',
        type: 'function_call',
        status: 'completed',
        call_id: call.id,
        name: call.name,
        arguments: call.arguments,
      })),
    },
  }) satisfies ResponseDoneEvent;

type ToolInput = string | number | boolean | null | ToolInput[] | { [name: string]: ToolInput };

const toToolInput = (json: string): ToolInput => JSON.parse(json);

/** What Converse answers, as AWS's client for JavaScript gives it. */
export const converseOutput = (calls: readonly PublishedCall[]) =>
  ({
    $metadata: { httpStatusCode: 200, requestId: 'b1c7f1a0', attempts: 1, totalRetryDelay: 0 },
    metrics: { latencyMs: 1_142 },
    output: {
      message: {
        role: 'assistant',
        content: [
          { text: 'I will look into the workspace.' },
          ...calls.map((call) => ({
            toolUse: { toolUseId: call.id, name: call.name, input: toToolInput(call.arguments) },
          })),
        ],
      },
    },
    stopReason: 'tool_use',
    usage: { inputTokens: 321, outputTokens: 42, totalTokens: 363 },
  }) satisfies ConverseCommandOutput;

/** What Mistral's client gives: the API's answer with its names in camelCase. */
export const mistralResponse = (calls: readonly PublishedCall[]) => {
  const response: ChatCompletionResponse = {
    id: 'e5cc70bb28c444948073e77776eb30ef',
    object: 'chat.completion',
    model: 'mistral-large-latest',
    created: 1_793_870_000,
    usage: { promptTokens: 321, completionTokens: 42, totalTokens: 363 },
    choices: [
      {
        index: 0,
        finishReason: 'tool_calls',
        message: {
          role: 'assistant',
          content: '',
          prefix: false,
          toolCalls: calls.map((call, index) => ({
            id: call.id,
            type: 'function',
            function: { name: call.name, arguments: call.arguments },
            index,
          })),
        },
      },
    ],
  };
  return response;
};

/** What Cohere's client gives. */
export const cohereResponse = (calls: readonly PublishedCall[]) => {
  const response: Cohere.V2ChatResponse = {
    id: '8a3f2d',
    finishReason: 'TOOL_CALL',
    message: {
      role: 'assistant',
      toolPlan: 'I will look into the workspace.',
      toolCalls: calls.map((call) => ({
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: call.arguments },
      })),
    },
    usage: { tokens: { inputTokens: 321, outputTokens: 42 } },
  };
  return response;
};

/** What Ollama's `/api/chat` answers, which has ids since its version 0.12. */
export const ollamaResponse = (calls: readonly PublishedCall[]) =>
  ({
    model: 'qwen3',
    created_at: new Date('2026-11-05T09:00:00.000Z'),
    message: {
      role: 'assistant',
      content: '',
      tool_calls: calls.map((call) => ({
        id: call.id,
        function: { name: call.name, arguments: toObject(call.arguments) },
      })),
    },
    done: true,
    done_reason: 'stop',
    total_duration: 1,
    load_duration: 1,
    prompt_eval_count: 1,
    prompt_eval_duration: 1,
    eval_count: 1,
    eval_duration: 1,
  }) satisfies ChatResponse;

/** The message that the AI SDK puts into `response.messages`. */
export const aiSdkMessage = (calls: readonly PublishedCall[]) =>
  ({
    role: 'assistant',
    content: [
      { type: 'text', text: 'I will look into the workspace.' },
      ...calls.map((call) => ({
        type: 'tool-call' as const,
        toolCallId: call.id,
        toolName: call.name,
        input: toObject(call.arguments),
      })),
    ],
  }) satisfies AssistantModelMessage;

/** The native envelope, which plain text observations take. */
export const nativeEnvelope = (calls: readonly PublishedCall[]) => ({ session_id: 'agent_1', calls });
