export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isArray = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** An own member of whatever was received; undefined where there is none. */
export const member = (value: unknown, key: string): unknown =>
  hasMembers(value) && Object.hasOwn(value, key) ? value[key] : undefined;

const hasMembers = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null;

/** A member that is an array; an empty one where it is anything else. */
export const listOf = (value: unknown, key: string): readonly unknown[] => {
  const list = member(value, key);
  return isArray(list) ? list : [];
};
