import type { JsonSchema } from '../../contract/tool-description.ts';

/**
 * The same function, asked once for each schema: those of a catalogue stay the same objects until it changes, and there
 * may be thousands.
 */
export const remembering = <Result>(convert: (schema: JsonSchema) => Result): ((schema: JsonSchema) => Result) => {
  const known = new WeakMap<JsonSchema, { readonly result: Result }>();
  return (schema) => {
    const found = known.get(schema) ?? { result: convert(schema) };
    known.set(schema, found);
    return found.result;
  };
};
