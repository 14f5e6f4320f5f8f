import {
  describeParts,
  type Link,
  type Media,
  mayContainMarkedMedia,
  type Part,
  type TextResource,
  toTextPart,
  writeBlocks,
} from '@recourse/dialects/media';
import { explainResult, readResultParts } from '@recourse/dialects/observation';
import { isRecord } from 'recourse-server/contract/json-record';
import type { RenderedResult, ToolResult } from 'recourse-server/contract/tool-result';

/** The key of `_meta` under which a result says what the protocol has no word for. */
const RESULT_KEY = 'recourse/result';

/** A block of a result, as every revision since 2025-03-26 knows it. */
export type Content =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly mimeType: string; readonly data: string }
  | { readonly type: 'resource'; readonly resource: ResourceContents }
  // Not before 2025-06-18.
  | ({ readonly type: 'resource_link' } & Link);

type ResourceContents = { readonly uri: string; readonly mimeType?: string } & (
  | { readonly blob: string }
  | { readonly text: string }
);

/** A result of `tools/call`, in every revision of the protocol since 2025-03-26. */
export type CallResult = {
  readonly content: Content[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  readonly _meta?: Readonly<Record<typeof RESULT_KEY, Readonly<Record<string, unknown>>>>;
};

/** What has to be known of a call beside its result. */
export type CallAbout = {
  readonly requestId: string;
  /** Whether its tool promises an object of some schema. */
  readonly promises: 'object' | 'nothing';
  /** It came with an idempotency key, under which its result can be asked for again. */
  readonly isKeyed: boolean;
  /** Whether its revision has links to resources. */
  readonly links: 'shown' | 'told';
};

/**
 * The members of a plain success as JSON text, put together from the text of its value; most results are of this kind.
 * null for every other result: `createCallResult` makes those.
 */
export const writePlainResult = (rendered: RenderedResult, { isKeyed }: CallAbout): string | null => {
  const value = isKeyed ? null : findPlainObject(rendered);
  if (value === null) return null;
  return `"content":[{"type":"text","text":${JSON.stringify(value)}}],"structuredContent":${value},"isError":false`;
};

/** The value of a plain success as JSON text, where it is an object with something in it and without media; else null. */
const findPlainObject = ({ plainValueJson: value }: RenderedResult): string | null => {
  return value === null || !value.startsWith('{') || value === '{}' || mayContainMarkedMedia(value) ? null : value;
};

/**
 * A result as MCP has it: `isError` for every failure. Clients throw where a tool with an output schema succeeds and
 * its object is missing, as it does where a write tool's answer was unusable: that, too, is marked as an error, and its
 * text says that it has happened. A failure's payload need not fit that schema: it stays in `_meta`. Media are content of
 * their own, and not repeated as structured content unless it was promised.
 */
export const createCallResult = (result: ToolResult, about: CallAbout): CallResult => {
  const structuredValue = pickStructured(result, about);
  const isBroken = result.success && about.promises === 'object' && structuredValue === null;
  const parts = readResultParts(result);
  const structured = isShownWhole(parts, about) ? null : structuredValue;
  const isError = !result.success || isBroken;
  const said = parts ?? [toTextPart(explainResult(result))];
  return {
    content: writeContents(isBroken ? [toTextPart(explainBroken(result.name)), ...said] : said, about),
    ...(structured === null ? {} : { structuredContent: { ...structured } }),
    isError,
    ...(isError || hasDetail(result, about) ? { _meta: { [RESULT_KEY]: writeDetail(result, about) } } : {}),
  };
};

const pickStructured = (
  { success, value }: ToolResult,
  { promises }: CallAbout,
): Readonly<Record<string, unknown>> | null => (isRecord(value) && (success || promises === 'nothing') ? value : null);

const isShownWhole = (parts: readonly Part[] | null, about: CallAbout): boolean =>
  parts !== null && about.promises === 'nothing' && parts.every((part) => isShown(part, about));

const writeContents = (parts: readonly Part[], { links }: CallAbout): Content[] => {
  const link = links === 'shown' ? writeLink : undefined;
  return writeBlocks<Content>(parts, { ...WRITERS, link }) ?? [writeText(describeParts(parts))];
};

const writeText = (text: string): Content => ({ type: 'text', text });

const writeContent = ({ kind, mimeType, data, uri }: Media): Content | null => {
  if (data === null) return null;
  if (kind !== 'resource') return { type: kind, mimeType, data };
  return uri === null ? null : { type: 'resource', resource: { uri, ...decideType(mimeType), blob: data } };
};

const writeResource = ({ text, mimeType, uri }: TextResource): Content => ({
  type: 'resource',
  resource: { uri, ...decideType(mimeType), text },
});

const writeLink = (link: Link): Content => ({ type: 'resource_link', ...link });

const decideType = (mimeType: string): { readonly mimeType?: string } => (mimeType === '' ? {} : { mimeType });

const WRITERS = { text: writeText, media: writeContent, resource: writeResource } as const;

const isShown = (part: Part, { links }: CallAbout): boolean => {
  if (part.kind === 'link') return links === 'shown';
  return part.kind !== 'media' || writeContent(part.media) !== null;
};

/** Whether a success has something to say that its content does not. */
const hasDetail = ({ empty, replayed, truncated, reconciled, warnings }: ToolResult, { isKeyed }: CallAbout): boolean =>
  isKeyed ||
  empty === true ||
  replayed === true ||
  truncated === true ||
  reconciled !== undefined ||
  warnings !== undefined;

const writeDetail = (result: ToolResult, { requestId }: CallAbout): Readonly<Record<string, unknown>> => {
  const { index: _index, id: _id, name: _name, success, message: _message, value, ...rest } = result;
  const payload = success ? {} : { value };
  return { request_id: requestId, ...withoutNulls({ ...rest, code: result.error?.code, ...payload }) };
};

// Clients that take a result for a value of their own refuse all of it for one null (@llamaindex/core).
const withoutNulls = (members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) => {
      if (value === null || value === undefined) return [];
      return [[name, isRecord(value) ? withoutNulls(value) : value]];
    }),
  );

const explainBroken = (name: string | null): string =>
  `'${name}' ran and took effect, but its result does not fit the output schema and is left out. Do not repeat it for the result.`;
