import type { CatalogueFormat, MessageFormat, Scheduling } from '../contract/message-format.ts';
import type { ToolDescription } from '../contract/tool-description.ts';
import type { RenderedResult, ToolResult } from '../contract/tool-result.ts';
import type { CallReading } from '../executor/batch-request.ts';

/** Tool calls, results and tools as model providers write them. */
export type Dialects = {
  /** Every dialect but the service's own envelope, by the name that `format` calls it. */
  readonly byFormat: ReadonlyMap<MessageFormat, Dialect>;
  /** The dialect a body is unmistakably written in; null for the native envelope and whatever could be another's. */
  readonly detect: (body: unknown) => Dialect | null;
  /** The formats whose calls a body holds, each once, also in places that no dialect reads. */
  readonly formatsIn: (body: unknown) => readonly MessageFormat[];
  /** Reads what providers' models mean by their calls, of the tools that are found so. */
  readonly createReadProviderCalls: (
    tools: Readonly<Record<'find' | 'findPortable', CallReading['findTool']>>,
  ) => ReadProviderCalls;
  /** Reads a result that this service has written. */
  readonly readObservedResult: (result: RenderedResult) => ObservedResult;
  /** What tells a model of calls that it saw as pending and that have ended; nothing where there are none. */
  readonly writeLateMessages: (results: readonly RenderedResult[], terms: LateTerms) => readonly unknown[];
  /** The catalogue as a provider's request wants it. */
  readonly writeCatalogue: (
    tools: readonly ToolDescription[],
    format: Exclude<CatalogueFormat, 'native'>,
    style: SchemaMode,
  ) => unknown;
};

/** How the calls of a model that was told so are read. */
export type ReadProviderCalls = (mode: SchemaMode) => CallReading;

/** One way to write tool calls and their results. Pure: the same in, the same out, whatever comes in. */
export type Dialect = {
  readonly format: MessageFormat;
  /** Whether an object that is no native envelope bears the marks of this dialect; several may say so. */
  readonly marks: (body: Readonly<Record<string, unknown>>) => boolean;
  /** null where the body is not this dialect's, or holds calls in another format; no calls where it is and holds none. */
  readonly parse: (body: unknown) => ParsedMessage | null;
  /** All that is answered with raw=true: the messages, or what the provider wants around them. */
  readonly toRaw: (messages: readonly unknown[]) => unknown;
};

/** What a provider's message asks for. */
export type ParsedMessage = {
  /** Entries of `calls` as the native envelope has them, in order; each is judged later, by itself. */
  readonly calls: readonly unknown[];
  /**
   * What the conversation goes on with: each call answered exactly once, under its own id. `results` are those of
   * `calls`, in order, and as many.
   */
  readonly toMessages: (results: readonly ObservedResult[]) => readonly unknown[];
};

/** What of a result a model reads. */
export type ObservedResult = Pick<
  ToolResult,
  'success' | 'outcome' | 'executed' | 'value' | 'message' | 'error' | 'retry' | 'empty' | 'truncated' | 'warnings'
> & {
  /** The value as JSON text, where it is an object or a list that is not parsed yet; `value` is undefined then. */
  readonly valueJson?: string;
};

export type LateFormat = Exclude<MessageFormat, 'native'>;

/** `scheduling` is null but for Gemini's Live API. */
export type LateTerms = { readonly format: LateFormat; readonly scheduling: Scheduling | null };

/**
 * How a provider's model is told of the schemas of tools. `strict`: where the provider can hold its model to the schema, and the
 * schema can be said in its subset; the model then names every property.
 */
export type SchemaMode = 'plain' | 'strict';
