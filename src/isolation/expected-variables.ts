import { dirname, resolve } from 'node:path';
import type { ToolFile } from '../tools/tool.ts';

const IMPORT = /\b(?:from|import|require)\s*(?:\(\s*)?['"](\.{1,2}\/[^'"\n]+)['"]/g;
const QUOTED = /(['"`])([A-Za-z_]\w*)\1/g;

/**
 * The variables that a file is likely to ask for, of those that it would get: the names that stand as texts in it and in
 * what it imports of its directory. Known before its code runs, so that its first load finds them.
 */
export const findExpectedVariables = (
  { path, sources }: Pick<ToolFile, 'path' | 'sources'>,
  isGiven: (name: string) => boolean,
): readonly string[] => {
  const found = new Set<string>();
  // A set that grows while it is walked is walked to its end, and a circle of imports ends.
  const paths = new Set([path]);
  for (const one of paths) {
    const text = sources.get(one) ?? '';
    for (const [, , name = ''] of text.matchAll(QUOTED)) if (isGiven(name)) found.add(name);
    for (const [, specifier = ''] of text.matchAll(IMPORT)) paths.add(resolve(dirname(one), specifier));
  }
  return [...found].sort();
};
