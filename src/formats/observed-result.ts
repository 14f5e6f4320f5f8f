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
  /** The value as JSON text, where it is an object or a list and nobody has parsed it yet; `value` is undefined then. */
  readonly valueJson?: string;
};

/** The value of a result, parsed if need be: a model is mostly told its text. */
export const parsedValueOf = ({ value, valueJson }: ObservedResult): unknown =>
  valueJson === undefined ? value : JSON.parse(valueJson);

const SUCCESS = 's":';
const BEFORE_VALUE = 's":true,"outcome":"success","executed":"yes","value":';
const AFTER_VALUE = ',"message":"","error":null,"retry":null,"duration_ms":';

/** Reads a result that this service has written. Where it is a plain success, its object or list is not parsed. */
export const readObservedResult = (json: string): ObservedResult => {
  const valueJson = cutPlainValue(json);
  if (valueJson === null) return JSON.parse(json);
  const isUnparsed = valueJson.startsWith('{') || valueJson.startsWith('[');
  // Spelled out: a getter or a spread would cost more than all the rest.
  return isUnparsed
    ? {
        success: true,
        outcome: 'success',
        executed: 'yes',
        value: undefined,
        message: '',
        error: null,
        retry: null,
        valueJson,
      }
    : { ...PLAIN, value: JSON.parse(valueJson) };
};

const PLAIN = { success: true, outcome: 'success', executed: 'yes', message: '', error: null, retry: null } as const;

/**
 * The value of a plain success as JSON text; null for any other result. In a caller's id or name, and in a value's texts,
 * quotes are escaped: what stands around the value cannot be found there, and the first key that ends like `success` is that
 * one. A member of the value may look like the end, but only the last is followed by nothing more than a number.
 */
export const cutPlainValue = (json: string): string | null => {
  // By few characters, for V8 looks for six of them forty times as fast as for seven; the rest is only compared.
  const before = json.indexOf(SUCCESS);
  if (before < 0 || !json.startsWith(BEFORE_VALUE, before)) return null;
  const start = before + BEFORE_VALUE.length;
  const end = json.lastIndexOf(AFTER_VALUE);
  return end < start || json.includes(',', end + AFTER_VALUE.length) ? null : json.slice(start, end);
};
