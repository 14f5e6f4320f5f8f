import type { ToolResult } from '../contract/tool-result.ts';

type Told =
  | 'success'
  | 'outcome'
  | 'executed'
  | 'value'
  | 'message'
  | 'error'
  | 'retry'
  | 'empty'
  | 'truncated'
  | 'warnings';

/** What of a result a model is told. */
export type ObservedResult = Pick<ToolResult, Told> & {
  /** The value as JSON text, where it is an object or a list and nobody has parsed it yet. */
  readonly valueJson?: string;
};

const BEFORE_VALUE = '"success":true,"outcome":"success","executed":"yes","value":';
const AFTER_VALUE = ',"message":"","error":null,"retry":null,"duration_ms":';
const LAST_MEMBER = /^[\d.]+\}$/;

/**
 * Reads a result that this service has written. Where it is a plain success the value is cut out of the text, and parsed
 * only where somebody looks at it: a model is told the text. In a caller's id or name, and in a value's texts, quotes are
 * escaped, so what stands around the value cannot be found there; a member of the value may look like the end, but only
 * the last is followed by nothing.
 */
export const readObservedResult = (json: string): ObservedResult => {
  const before = json.indexOf(BEFORE_VALUE);
  const end = json.lastIndexOf(AFTER_VALUE);
  const start = before + BEFORE_VALUE.length;
  if (before < 0 || end < start || !LAST_MEMBER.test(json.slice(end + AFTER_VALUE.length))) return JSON.parse(json);
  const valueJson = json.slice(start, end);
  return valueJson.startsWith('{') || valueJson.startsWith('[')
    ? toUnparsed(valueJson)
    : { ...PLAIN, value: JSON.parse(valueJson) };
};

const PLAIN = { success: true, outcome: 'success', executed: 'yes', message: '', error: null, retry: null } as const;

const toUnparsed = (valueJson: string): ObservedResult => {
  let value: unknown;
  return {
    ...PLAIN,
    valueJson,
    get value(): unknown {
      value ??= JSON.parse(valueJson);
      return value;
    },
  };
};
