import { isArray, isRecord, memberOf } from 'recourse-server/contract/json-record';
import type { MessageFormat } from 'recourse-server/contract/message-format';
import type { Dialect, Dialects, ObservedResult } from 'recourse-server/routes/dialects';
import { aiSdk, anthropic, bedrock } from './block-dialects.ts';
import { writeCatalogue } from './catalogue/write-catalogue.ts';
import { cohere, mistral, ollama, openaiChat } from './chat-dialects.ts';
import { createMessageOf, readProviderCall } from './define-dialect.ts';
import { formatOfList, formatsIn, isNative } from './detect-format.ts';
import { gemini } from './gemini.ts';
import { openaiRealtime, openaiResponses } from './item-dialects.ts';
import { langchain } from './langchain.ts';
import { writeLateMessages } from './late-messages.ts';
import { readObservedResult } from './observation.ts';
import { createReadProviderCalls } from './provider-calls.ts';
import { vapi } from './vapi.ts';

/**
 * Plain observations for loops that keep one text a step: the native envelope in, `SUCCESS: …`, `ERROR: …` and `PENDING: …` out.
 * Only ever named, never detected: the envelope is the native one.
 */
const text: Dialect = {
  format: 'text',
  marks: () => false,
  parse: (body) => {
    const calls = memberOf(body, 'calls');
    if (!isArray(calls)) return null;
    const found = calls.map((entry) => ({
      ...readProviderCall(memberOf(entry, 'id'), memberOf(entry, 'name'), null),
      entry,
    }));
    return createMessageOf(found, (answers) => answers.map(({ result, text: said }) => writeLine(result, said)));
  },
  toRaw: (messages) => messages,
};

/** A result as an observation. A failure's text begins with `ERROR: ` as it is. */
const writeLine = (result: ObservedResult | null, said: string): string => {
  if (result === null) return said;
  if (result.outcome === 'pending') return `PENDING: ${said}`;
  return result.success ? `SUCCESS: ${said}` : said;
};

// Asked for their marks in this order. LangChain stands before the others: its messages carry the provider's own blocks inside.
// Those that write calls as OpenAI does stand before it, for they are told by what they add.
const ALL: readonly Dialect[] = [
  ...[vapi, langchain, mistral, cohere, ollama, openaiChat, openaiRealtime, openaiResponses],
  ...[gemini, bedrock, aiSdk, anthropic, text],
];

/** Every dialect but the service's own envelope, by the name that `format` calls it. */
export const DIALECTS: ReadonlyMap<MessageFormat, Dialect> = new Map(ALL.map((dialect) => [dialect.format, dialect]));

/** The dialect a body is unmistakably written in; null for the native envelope and whatever could be another's. */
export const detectDialect = (body: unknown): Dialect | null => {
  const dialect = isArray(body) ? DIALECTS.get(formatOfList(body) ?? 'native') : findMarked(body);
  return dialect?.parse(body) == null ? null : dialect;
};

const findMarked = (body: unknown): Dialect | undefined =>
  isRecord(body) && !isNative(body) ? ALL.find(({ marks }) => marks(body)) : undefined;

/** All that the service asks of dialects. */
export const dialects: Dialects = {
  byFormat: DIALECTS,
  detect: detectDialect,
  formatsIn,
  createReadProviderCalls,
  readObservedResult,
  writeLateMessages,
  writeCatalogue,
};
