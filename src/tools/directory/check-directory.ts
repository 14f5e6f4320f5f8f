import type { ToolFacts } from '../tool.ts';
import { loadChangedFiles } from './file-versions.ts';
import { type LoadProblem, toLoadProblem } from './load-problem.ts';
import type { ToolFileHosts } from './load-tool-file.ts';
import { createLoadVersion, type InlineTools } from './load-version.ts';
import { readDirectory } from './read-directory.ts';
import { settleNames, toClaimKey } from './settle-names.ts';

export type CheckOptions = {
  readonly hosts: ToolFileHosts;
  /** The service's own tools and reducers. */
  readonly taken: Iterable<Pick<ToolFacts, 'role' | 'name'>>;
  readonly inline: InlineTools;
  /** Whether tools may have the variable of this name. */
  readonly isAllowed: (name: string) => boolean;
};

export type CheckedDirectory = {
  /** Names of the tools that would serve, sorted. */
  readonly tools: readonly string[];
  readonly problems: readonly LoadProblem[];
};

const SILENT = { info: () => undefined, warn: () => undefined };
const LOADS_AT_ONCE = 32;

/**
 * Loads a tools directory as the service does and says what serves and what is wrong. Rejects with one sentence for
 * people where the directory cannot be read.
 */
export const checkDirectory = async (root: string, options: CheckOptions): Promise<CheckedDirectory> => {
  const snapshot = await readDirectory(root);
  const load = createLoadVersion({ ...options, log: SILENT });
  const states = await loadChangedFiles(new Map(), snapshot, {
    load,
    loadsAtOnce: LOADS_AT_ONCE,
    isAllowed: options.isAllowed,
  });
  const taken = new Set([...options.taken].map(toClaimKey));
  const { offer, refused } = settleNames(states, { taken, holders: new Map() });
  const found = [...states.values()].flatMap(({ failure, problems }) => [
    ...(failure === null ? [] : [failure]),
    ...problems,
  ]);
  const clashes = refused.flatMap(({ facts, reason }) => {
    const file = states.get(facts.source.replace(/^TOOLS_DIR\//, ''))?.good?.file;
    return file === undefined ? [] : [toLoadProblem(file, { message: reason, tool: facts.name, place: facts.place })];
  });
  return {
    tools: offer.tools.flatMap(({ role, name }) => (role === 'tool' ? [name] : [])).sort(),
    problems: [...found, ...clashes],
  };
};
