import type { ToolResult } from '../contract/tool-result.ts';
import { toObservation } from '../formats/observation.ts';

/** The key of `_meta` under which a result says what the protocol has no word for. */
const RESULT_KEY = 'recourse/result';

/** A result of `tools/call`, in every revision of the protocol since 2025-03-26. */
export type CallResult = {
  readonly content: readonly [{ readonly type: 'text'; readonly text: string }];
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
 * text says that it has happened. A failure's payload need not fit that schema: it stays in `_meta`.
 */
export const toCallResult = ({ result, requestId, promises }: CalledTool): CallResult => {
  const { success, value } = result;
  const structured = isRecord(value) && (success || promises === 'nothing') ? value : null;
  const broken = success && promises === 'object' && structured === null;
  const text = broken ? `${toBrokenText(result.name)}\n${toObservation(result)}` : toObservation(result);
  return {
    content: [{ type: 'text', text }],
    ...(structured === null ? {} : { structuredContent: { ...structured } }),
    isError: !success || broken,
    _meta: { [RESULT_KEY]: { request_id: requestId, ...toDetail(result) } },
  };
};

const toDetail = (result: ToolResult): Readonly<Record<string, unknown>> => {
  const { index: _index, id: _id, name: _name, success, message: _message, value, ...rest } = result;
  return { ...rest, code: result.error?.code ?? null, ...(success || value === null ? {} : { value }) };
};

const toBrokenText = (name: string | null): string =>
  `'${name}' has run and taken effect; only its result cannot be shown as promised. Do not repeat it for the result.`;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
