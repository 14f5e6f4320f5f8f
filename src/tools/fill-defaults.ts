import { isRecord } from '../contract/json-record.ts';
import type { JsonSchema } from '../contract/tool-description.ts';

type Input = Readonly<Record<string, unknown>>;

/**
 * Arguments with the defaults of the members that they leave out, in objects within objects, too; the same object where none is
 * left out. What only a `$ref`, or one of several alternatives, would say is not filled in.
 */
export const fillDefaults = (schema: JsonSchema, input: Input): Input => {
  const { properties } = schema;
  if (!isRecord(properties)) return input;
  const filled = Object.entries(properties).flatMap(([name, member]) => {
    const value = fillMember(name, member, input);
    return value === undefined || value === input[name] ? [] : [[name, value] as const];
  });
  return filled.length === 0 ? input : { ...input, ...Object.fromEntries(filled) };
};

const fillMember = (name: string, member: unknown, input: Input): unknown => {
  // No call can send it, and no object may get it.
  if (!isRecord(member) || name === '__proto__') return undefined;
  const value = Object.hasOwn(input, name) ? input[name] : structuredClone(member['default']);
  return isRecord(value) ? fillDefaults(member, value) : value;
};
