import { isRecord, memberOf } from './read-json.ts';

/** Leads from the arguments to a value in them. */
export type JsonPath = readonly (string | number)[];

/** The value at a path; undefined where there is none. */
export const valueAt = (root: unknown, path: JsonPath): unknown => path.reduce(step, root);

const step = (value: unknown, key: string | number): unknown => {
  if (typeof key === 'number') return Array.isArray(value) ? value[key] : undefined;
  return isRecord(value) ? memberOf(value, key) : undefined;
};

/** A copy with another value at the path; undefined takes it out. What lies on the way is made where it is missing. */
export const withValueAt = (root: unknown, [key, ...rest]: JsonPath, value: unknown): unknown => {
  if (key === undefined) return value;
  const inner = withValueAt(step(root, key), rest, value);
  return typeof key === 'number' ? withItem(root, key, inner) : withMember(root, key, inner);
};

const withItem = (root: unknown, index: number, item: unknown): unknown => {
  const items: readonly unknown[] = Array.isArray(root) ? root : [];
  return item === undefined ? items.toSpliced(index, 1) : items.toSpliced(index, 1, item);
};

// By entries: `__proto__` becomes a member like any other.
const withMember = (root: unknown, name: string, member: unknown): unknown => {
  const entries = new Map(Object.entries(isRecord(root) ? root : {}));
  if (member === undefined) entries.delete(name);
  else entries.set(name, member);
  return Object.fromEntries(entries);
};
