import type { ToolResult } from '../contract/tool-result.ts';
import { type Media, type Part, type TextResource, toBlocks, toPlainText, toTextPart } from '../formats/media.ts';
import { toObservation, toParts } from '../formats/observation.ts';

/** The key of `_meta` under which a result says what the protocol has no word for. */
const RESULT_KEY = 'recourse/result';

/** A block of a result, as every revision since 2025-03-26 knows it. */
export type Content =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly mimeType: string; readonly data: string }
  | {
      readonly type: 'resource';
      readonly resource: ResourceContents;
    };

type ResourceContents = { readonly uri: string; readonly mimeType?: string } & (
  | { readonly blob: string }
  | { readonly text: string }
);

/** A result of `tools/call`, in every revision of the protocol since 2025-03-26. */
export type CallResult = {
  readonly content: Content[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  readonly _meta: Readonly<Record<typeof RESULT_KEY, Readonly<Record<string, unknown>>>>;
};

/** What came of one call, under the id of its request, and whether its tool promises an object of some schema. */
export type CalledTool = {
  readonly result: ToolResult;
  readonly requestId: string;
  readonly promises: 'object' | 'nothing';
};

/**
 * A result as MCP has it: `isError` for every failure. Clients throw where a tool with an output schema succeeds and
 * its object is missing, as it does where a write tool's answer was unusable: that, too, is marked as an error, and its
 * text says that it has happened. A failure's payload need not fit that schema: it stays in `_meta`. Media are content of
 * their own, and not repeated as structured content unless it was promised.
 */
export const toCallResult = ({ result, requestId, promises }: CalledTool): CallResult => {
  const { success, value } = result;
  const given = isRecord(value) && (success || promises === 'nothing') ? value : null;
  const broken = success && promises === 'object' && given === null;
  const parts = toParts(result);
  const structured = parts !== null && promises === 'nothing' && parts.every(isShown) ? null : given;
  return {
    content: toContents(result, broken ? [toTextPart(toBrokenText(result.name))] : [], parts),
    ...(structured === null ? {} : { structuredContent: { ...structured } }),
    isError: !success || broken,
    _meta: { [RESULT_KEY]: { request_id: requestId, ...toDetail(result) } },
  };
};

const toContents = (result: ToolResult, first: readonly Part[], parts: readonly Part[] | null): Content[] => {
  const all = [...first, ...(parts ?? [toTextPart(toObservation(result))])];
  return toBlocks<Content>(all, { text: toText, media: toContent, resource: toResource }) ?? [toText(toPlainText(all))];
};

const toText = (text: string): Content => ({ type: 'text', text });

const toContent = ({ kind, mimeType, data, uri }: Media): Content | null => {
  if (data === null) return null;
  if (kind !== 'resource') return { type: kind, mimeType, data };
  return uri === null ? null : { type: 'resource', resource: { uri, ...toType(mimeType), blob: data } };
};

const toResource = ({ text, mimeType, uri }: TextResource): Content => ({
  type: 'resource',
  resource: { uri, ...toType(mimeType), text },
});

const toType = (mimeType: string): { readonly mimeType?: string } => (mimeType === '' ? {} : { mimeType });

const isShown = (part: Part): boolean => part.kind !== 'media' || toContent(part.media) !== null;

const toDetail = (result: ToolResult): Readonly<Record<string, unknown>> => {
  const { index: _index, id: _id, name: _name, success, message: _message, value, ...rest } = result;
  return { ...rest, code: result.error?.code ?? null, ...(success || value === null ? {} : { value }) };
};

const toBrokenText = (name: string | null): string =>
  `'${name}' has run and taken effect; only its result cannot be shown as promised. Do not repeat it for the result.`;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
