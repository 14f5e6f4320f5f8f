import { findNearestNames } from '../contract/nearest-names.ts';

/** What other interfaces call the members of a call. */
const OTHER_WORDS = {
  name: ['tool', 'tool_name', 'toolName', 'function', 'function_name', 'method'],
  arguments: ['args', 'input', 'inputs', 'parameters', 'params', 'kwargs', 'tool_input', 'toolInput'],
} as const;

const MOST_LOOKED_AT = 16;
const MOST_LETTERS = 20;

/** The member of an entry that stands in the place of one that is missing; null where none looks like it. */
export const findMisnamed = (entry: object, missing: 'name' | 'arguments'): string | null => {
  const words: readonly string[] = OTHER_WORDS[missing];
  const names = Object.keys(entry).slice(0, MOST_LOOKED_AT);
  const known = names.find((name) => words.includes(name));
  if (known !== undefined) return known;
  const isNear = (name: string): boolean =>
    name.length <= MOST_LETTERS && findNearestNames(name, [missing], 1, missing === 'name' ? 1 : 2).length > 0;
  return names.find((name) => name !== 'id' && name !== missing && isNear(name)) ?? null;
};
