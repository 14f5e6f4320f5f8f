import type { MessageFormat } from '../contract/message-format.ts';
import { aiSdk } from './ai-sdk.ts';
import { anthropic } from './anthropic.ts';
import { bedrock } from './bedrock.ts';
import { cohere } from './cohere.ts';
import { detectFormat } from './detect-format.ts';
import type { Dialect } from './dialect.ts';
import { gemini } from './gemini.ts';
import { langchain } from './langchain.ts';
import { mistral } from './mistral.ts';
import { ollama } from './ollama.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiRealtime } from './openai-realtime.ts';
import { openaiResponses } from './openai-responses.ts';
import { text } from './text.ts';
import { vapi } from './vapi.ts';

const ALL: readonly Dialect[] = [
  ...[openaiChat, openaiResponses, openaiRealtime, anthropic, gemini, bedrock],
  ...[mistral, cohere, ollama, aiSdk, vapi, langchain, text],
];

/** Every dialect but the service's own envelope, by the name that `format` calls it. */
export const DIALECTS: ReadonlyMap<MessageFormat, Dialect> = new Map(ALL.map((dialect) => [dialect.format, dialect]));

/** The dialect a body is unmistakably written in; null for the native envelope and whatever could be another's. */
export const detectDialect = (body: unknown): Dialect | null => {
  const format = detectFormat(body);
  const dialect = format === null ? undefined : DIALECTS.get(format);
  return dialect?.detects(body) === true ? dialect : null;
};
