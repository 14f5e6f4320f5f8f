import type { Logger } from 'pino';
import type { RequiredTools } from '../config/required-tools.ts';
import { isToolName, toPortableName } from '../contract/tool-names.ts';
import { isUnloaded, type SourceState } from '../extensions/source.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import { createUnloadedTool, type ToolOffer, type UnavailableTool } from '../tools/tool-offer.ts';

/** What keeps files or tools of TOOLS_DIR from serving in their newest version. */
export type DirectoryProblems = {
  /** `file`: relative to TOOLS_DIR. `line`: counted from 1. `older`: the tools of an older version that serves; null: none does. */
  readonly found: readonly {
    readonly file: string;
    readonly line: number | null;
    readonly message: string;
    /** The source line, and below it a line with a caret. */
    readonly excerpt?: string | null;
    readonly older: readonly string[] | null;
  }[];
  /** The same, each as one line with its place. */
  readonly lines: readonly string[];
  /** A file never loaded, and its text does not say what its tools are called. */
  readonly hasUnnamed: boolean;
};

/** How the tools of the service stand. */
export type ToolsReadiness = {
  /** Whether all required tools have served at once since the start. */
  readonly isComplete: boolean;
  /** The entries of TOOLS_REQUIRED that are not met now. */
  readonly missing: readonly string[];
  readonly problems: DirectoryProblems['found'];
};

type ReadinessParts = {
  readonly required: RequiredTools;
  readonly registry: Pick<ToolRegistry, 'find' | 'list' | 'listMissing'>;
  readonly upstreams: () => readonly SourceState[];
  readonly directory: () => DirectoryProblems;
  readonly log: Logger;
};

/**
 * Judges whether what TOOLS_REQUIRED names serves; `look` after each change of what is offered. Once complete it stays so:
 * a file that breaks later is served in its last good version, and a replica that leaves for it would only take that away.
 */
export const createToolReadiness = ({ required, registry, upstreams, directory, log }: ReadinessParts) => {
  let isComplete = false;
  let logged = '';
  const findMissing = ({ found, hasUnnamed }: DirectoryProblems): readonly string[] => {
    const unloaded = upstreams().filter(isUnloaded);
    const isMet = (prefix: string): boolean =>
      !hasUnnamed &&
      registry.list().some(({ name }) => name.startsWith(prefix)) &&
      !registry.listMissing().some(({ facts }) => facts.name.startsWith(prefix)) &&
      !unloaded.some((source) => source.prefix.startsWith(prefix) || prefix.startsWith(source.prefix));
    return [
      ...(required.all && (found.length > 0 || unloaded.length > 0) ? ['all'] : []),
      ...required.names.filter((name) => registry.find(name) === undefined),
      ...required.prefixes.filter((prefix) => !isMet(prefix)),
    ];
  };
  const look = (): ToolsReadiness => {
    const problems = directory();
    const missing = findMissing(problems);
    const news = missing.join();
    if (missing.length === 0 && logged !== '') log.info('all required tools are available');
    if (missing.length > 0 && news !== logged)
      log.warn({ missing, files: problems.lines, ready: isComplete }, 'required tools are missing');
    logged = news;
    isComplete ||= missing.length === 0;
    return { isComplete, missing, problems: problems.found };
  };
  return look;
};

/** The offer, and beside it the required tools that nothing in it has, so that a call of one is not taken for a mistake. */
export const addRequired = (offer: ToolOffer, { names }: RequiredTools): ToolOffer => {
  if (names.length === 0) return offer;
  const known = new Set([...offer.tools, ...offer.unavailable.map(({ facts }) => facts)].map(({ name }) => name));
  const missing = names.filter((name) => !known.has(name));
  return { ...offer, unavailable: [...offer.unavailable, ...missing.map(toRequiredTool)] };
};

const toRequiredTool = (name: string): UnavailableTool =>
  createUnloadedTool(
    { name, description: 'TOOLS_REQUIRED names this tool.', source: 'TOOLS_REQUIRED' },
    'TOOLS_REQUIRED names it, and nothing that has loaded provides it.',
  );

/** The tool that a name means whose source has not loaded, by the prefix of its tools; undefined where none may have it. */
export const findUnloaded = (name: string, upstreams: readonly SourceState[]): UnavailableTool | undefined => {
  if (!isToolName(name)) return undefined;
  const portable = toPortableName(name);
  const source = upstreams.find((one) => one.prefix !== '' && isUnloaded(one) && portable.startsWith(one.prefix));
  if (source === undefined) return undefined;
  const about = { name, description: '', source: source.name };
  return createUnloadedTool(about, `${source.name} has not loaded, so nothing is known of its tools.`);
};
