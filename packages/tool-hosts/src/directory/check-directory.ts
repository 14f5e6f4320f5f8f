import type { Tool, ToolFacts } from 'recourse-server/tools/tool';
import { type LoadOptions, loadChangedFiles } from './file-versions.ts';
import type { LoadProblem } from './load-problem.ts';
import { readDirectory } from './read-directory.ts';
import { buildClaimKey, listProblems, settleNames } from './settle-names.ts';

type CheckOptions = Omit<LoadOptions, 'log'> & {
  /** The service's own tools and reducers. */
  readonly taken: Iterable<Pick<ToolFacts, 'role' | 'name'>>;
};

export type CheckedDirectory = {
  /** Names of the tools that would serve, sorted. */
  readonly tools: readonly string[];
  /** The same as the service would have them, and reducers. */
  readonly offered: readonly Tool[];
  readonly problems: readonly LoadProblem[];
};

const SILENT = { info: () => undefined, warn: () => undefined };

/**
 * Loads a tools directory as the service does and says what serves and what is wrong. Rejects with one sentence for
 * people where the directory cannot be read.
 */
export const checkDirectory = async (root: string, options: CheckOptions): Promise<CheckedDirectory> => {
  const states = await loadChangedFiles(new Map(), await readDirectory(root), { ...options, log: SILENT });
  const taken = new Set([...options.taken].map(buildClaimKey));
  const settled = settleNames(states, { taken, holders: new Map() });
  return {
    tools: settled.offer.tools.flatMap(({ role, name }) => (role === 'tool' ? [name] : [])).sort(),
    offered: settled.offer.tools,
    problems: listProblems(states, settled),
  };
};
