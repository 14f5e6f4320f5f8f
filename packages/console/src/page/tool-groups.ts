import type { components } from '../../../../clients/typescript/src/generated/api.ts';

type ToolDescription = components['schemas']['ToolDescription'];

/** Tools of one source: `prefix` is what all their names begin with, "" where they share nothing. */
export type ToolGroup = {
  readonly title: string;
  readonly prefix: string;
  readonly tools: readonly ToolDescription[];
};

const OWN = 'TOOLS_DIR/';

/** Where a tool comes from, in the words of a reader. */
const titleOf = ({ source }: Pick<ToolDescription, 'source'>): string => {
  if (source.startsWith(OWN)) return 'Own files';
  return source === 'builtin' ? 'Built in' : source;
};

/** The tools by where they come from: own files first, then by name. */
export const groupTools = (tools: readonly ToolDescription[]): readonly ToolGroup[] =>
  [...Map.groupBy(tools, titleOf)]
    .map(([title, tools]) => ({ title, tools, prefix: findPrefix(tools.map(({ name }) => name)) }))
    .sort((one, other) => rankOf(one) - rankOf(other) || (one.title < other.title ? -1 : 1));

const rankOf = ({ title }: ToolGroup): number => (title === 'Own files' ? 0 : 1);

/** What all of several names begin with, up to a mark between words; never a whole name. */
const findPrefix = (names: readonly string[]): string => {
  const [first = '', ...others] = names;
  if (others.length === 0) return '';
  let length = 0;
  while (length < first.length && others.every((name) => name[length] === first[length])) length += 1;
  // At least one letter of each name is left.
  const shortest = Math.min(...names.map((name) => name.length));
  return /^(?:.*[_.-])?/.exec(first.slice(0, Math.min(length, shortest - 1)))?.[0] ?? '';
};
