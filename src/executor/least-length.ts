import { types } from 'node:util';

// Of more members the first say enough.
const MOST_MEMBERS = 32;

/** How long the JSON of a value is at least, as far as that can be told without running any code of its tool. */
export const leastLength = (value: unknown): number => {
  if (typeof value === 'string') return value.length;
  if (
    typeof value !== 'object' ||
    value === null ||
    types.isProxy(value) ||
    Object.getPrototypeOf(value) !== Object.prototype
  )
    return 0;
  let length = 0;
  for (const key of Object.keys(value).slice(0, MOST_MEMBERS)) {
    const member: unknown = Object.getOwnPropertyDescriptor(value, key)?.value;
    // It may write itself as something short.
    if (key === 'toJSON') return 0;
    if (typeof member === 'string') length += member.length;
  }
  return length;
};
