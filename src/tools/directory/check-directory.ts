import type { ToolFacts } from '../tool.ts';
import { type LoadOptions, loadChangedFiles } from './file-versions.ts';
import { type LoadProblem, toLoadProblem } from './load-problem.ts';
import { readDirectory } from './read-directory.ts';
import { settleNames, toClaimKey } from './settle-names.ts';

type CheckOptions = Omit<LoadOptions, 'log'> & {
  /** The service's own tools and reducers. */
  readonly taken: Iterable<Pick<ToolFacts, 'role' | 'name'>>;
};

export type CheckedDirectory = {
  /** Names of the tools that would serve, sorted. */
  readonly tools: readonly string[];
  readonly problems: readonly LoadProblem[];
};

const SILENT = { info: () => undefined, warn: () => undefined };

/**
 * Loads a tools directory as the service does and says what serves and what is wrong. Rejects with one sentence for
 * people where the directory cannot be read.
 */
export const checkDirectory = async (root: string, options: CheckOptions): Promise<CheckedDirectory> => {
  const states = await loadChangedFiles(new Map(), await readDirectory(root), { ...options, log: SILENT });
  const taken = new Set([...options.taken].map(toClaimKey));
  const { offer, refused } = settleNames(states, { taken, holders: new Map() });
  const found = [...states.values()].flatMap(({ failure, problems }) => [failure ?? [], ...problems].flat());
  const clashes = refused.flatMap(({ facts, reason }) => {
    const file = states.get(facts.source.replace(/^TOOLS_DIR\//, ''))?.good?.file;
    return file === undefined ? [] : [toLoadProblem(file, { message: reason, tool: facts.name, place: facts.place })];
  });
  return {
    tools: offer.tools.flatMap(({ role, name }) => (role === 'tool' ? [name] : [])).sort(),
    problems: [...found, ...clashes],
  };
};
