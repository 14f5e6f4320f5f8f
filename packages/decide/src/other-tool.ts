import { parseExactJson } from '@recourse/toolkit-kit/egress/exact-json';
import { isArray, isRecord, type JsonRecord } from 'recourse-server/contract/json-record';
import { readPointer, valueAt } from 'recourse-server/tools/argument-issues';
import { PLACEHOLDER } from 'recourse-server/tools/tool-override';

type Sought = { readonly effectId: string; readonly input: JsonRecord };

/** What another tool is asked with about a write. Throws where the write lacks an argument of it: without it, it would ask for others. */
export const fillArguments = (template: JsonRecord, sought: Sought): JsonRecord =>
  Object.fromEntries(Object.entries(template).map(([name, value]) => [name, fill(value, sought)]));

const fill = (value: unknown, sought: Sought): unknown => {
  if (typeof value === 'string') return fillText(value, sought);
  if (isArray(value)) return value.map((item) => fill(item, sought));
  return isRecord(value) ? fillArguments(value, sought) : value;
};

const fillText = (text: string, sought: Sought): unknown => {
  const [first] = text.matchAll(PLACEHOLDER);
  // Alone it keeps the type of what it stands for.
  if (first?.[0] === text) return readPlace(first[1] ?? '', sought);
  return text.replaceAll(PLACEHOLDER, (_placeholder, place: string) => {
    const value = readPlace(place, sought);
    if (typeof value === 'object') throw new TypeError(`Its argument ${place} is no text or number within a text.`);
    return String(value);
  });
};

const readPlace = (place: string, { effectId, input }: Sought): unknown => {
  if (place === 'effectId') return effectId;
  const value = valueAt(input, readPointer(place, input));
  if (value === undefined)
    throw new TypeError(`Its arguments have nothing at ${place}, which reconcile.arguments names.`);
  return value;
};

/**
 * What a value has at a pointer; null: nothing. Text that is JSON is read as such: many servers answer with nothing else. Throws where
 * the value can have nothing within it.
 */
export const findHappened = (valueJson: string, pointer: string): unknown => {
  const value: unknown = JSON.parse(valueJson);
  if (pointer === '' || value === null) return value;
  const parsed = typeof value === 'string' ? parseExactJson(value) : null;
  const holder = parsed?.ok ? parsed.value : value;
  if (typeof holder !== 'object')
    throw new TypeError(`Its value is of type ${typeof holder}: it has nothing at ${pointer}.`);
  return valueAt(holder, readPointer(pointer, holder)) ?? null;
};
