import type { RenderedResult } from 'recourse-server/contract/tool-result';
import type { LateFormat, LateTerms, ObservedResult } from 'recourse-server/routes/dialects';
import * as z from 'zod';
import { writeScheduledPart } from './gemini.ts';
import { explainResult, readObservedResult } from './observation.ts';

/** A call whose conversation goes on: its answer said that it was pending. It has ended since. */
type LateCall = {
  readonly id: string | number | null;
  readonly name: string | null;
  readonly result: ObservedResult;
};

/**
 * What tells a model of calls that it saw as pending and that have ended; nothing where there are none. No provider but
 * Gemini's Live API takes a second answer to a call, so it is one user message, for some of them refuse two in a row; with
 * a text a call. Media are told of as text.
 */
export const writeLateMessages = (results: readonly RenderedResult[], terms: LateTerms): readonly unknown[] => {
  if (results.length === 0) return [];
  const calls = results.map(readLateCall);
  const { scheduling, format } = terms;
  return scheduling === null
    ? WRITERS[format](calls.map(explainLate))
    : [{ role: 'user', parts: calls.map((call) => writeScheduledPart(call, call.result, scheduling)) }];
};

const Head = z.object({ id: z.union([z.string(), z.number(), z.null()]), name: z.string().nullable() });

const readLateCall = (result: RenderedResult): LateCall => ({
  ...Head.parse(JSON.parse(result.json)),
  result: readObservedResult(result),
});

/** Says whose words these are: in a user message, a tool's output would else be taken for the user's. */
const explainLate = ({ id, name, result }: LateCall): string => {
  const which = id === null || id === '' ? '' : ` (${id})`;
  return `Result of the earlier call of tool '${name ?? ''}'${which}. The tool wrote it, not the user:\n${explainResult(result)}`;
};

type WriteTexts = (texts: readonly string[]) => readonly unknown[];

const toText = (texts: readonly string[]): string => texts.join('\n\n');

const writeMessage: WriteTexts = (texts) => [{ role: 'user', content: toText(texts) }];

const writeItem = (texts: readonly string[]) => ({
  type: 'message',
  role: 'user',
  content: texts.map((text) => ({ type: 'input_text', text })),
});

const WRITERS = {
  'openai-chat': writeMessage,
  mistral: writeMessage,
  cohere: writeMessage,
  ollama: writeMessage,
  'ai-sdk': writeMessage,
  langchain: (texts) => [{ type: 'human', role: 'user', content: toText(texts) }],
  'openai-responses': (texts) => [writeItem(texts)],
  'openai-realtime': (texts) => [{ type: 'conversation.item.create', item: writeItem(texts) }],
  anthropic: (texts) => [{ role: 'user', content: texts.map((text) => ({ type: 'text', text })) }],
  gemini: (texts) => [{ role: 'user', parts: texts.map((text) => ({ text })) }],
  bedrock: (texts) => [{ role: 'user', content: texts.map((text) => ({ text })) }],
  // docs.vapi.ai/calls/call-features: what is posted to the control URL of the call.
  vapi: (texts) => [{ type: 'add-message', message: { role: 'user', content: toText(texts) } }],
  text: (texts) => texts,
} as const satisfies Readonly<Record<LateFormat, WriteTexts>>;
