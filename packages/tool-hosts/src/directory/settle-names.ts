import { relative } from 'node:path';
import { isToolName, toPortableName } from 'recourse-server/contract/tool-names';
import type { HostedTool, InlineTool, Tool, ToolFacts } from 'recourse-server/tools/tool';
import { createUnloadedTool, type ToolOffer, type UnavailableTool } from 'recourse-server/tools/tool-offer';
import { type FileState, type FileStates, type FileVersion, findInline } from './file-versions.ts';
import { createLoadProblem, formatPlace, formatProblem, type LoadProblem } from './load-problem.ts';
import type { LoadedFacts } from './load-tool-file.ts';

export type Names = {
  /** Keys of the service's own tools and reducers. */
  readonly taken: ReadonlySet<string>;
  /** Key → the file whose tool or reducer of that name serves now. */
  readonly holders: ReadonlyMap<string, string>;
};

/** A tool or a reducer that was loaded and does not serve. */
type RefusedTool = UnavailableTool & { readonly facts: LoadedFacts };

export type Settled = {
  readonly offer: ToolOffer;
  /** Those unavailable ones of the offer that were loaded: they lost, or share, their name, or cannot run in a host. */
  readonly refused: readonly RefusedTool[];
  readonly holders: ReadonlyMap<string, string>;
};

/** Where a tool of the directory comes from, for people. */
export const describeSource = (fileName: string): string => `TOOLS_DIR/${fileName}`;

/**
 * What a name is taken under: a reducer may be called like a tool, and two tools may not come to one portable name,
 * by which a model calls them.
 */
export const buildClaimKey = ({ role, name }: Pick<ToolFacts, 'role' | 'name'>): string =>
  `${role} ${role === 'tool' ? toPortableName(name) : name}`;

/** A tool or a reducer as one file declares it. */
type Claim = {
  readonly fileName: string;
  readonly version: FileVersion;
  readonly facts: LoadedFacts;
};

/**
 * Who may use which name. A name that two files claim goes to the one that serves it already, and to neither where
 * none does; a name of the service's own is never given away.
 */
export const settleNames = (states: FileStates, names: Names): Settled => {
  const [unusable, usable] = split([...states].flatMap(listClaims), isUnusable);
  const refused: RefusedTool[] = [];
  const winners: Claim[] = [];
  for (const [key, claimants] of Map.groupBy(usable, ({ facts }) => buildClaimKey(facts))) {
    const winner = decideWinner(key, claimants, names);
    if (winner !== null) winners.push(winner);
    const isBuiltIn = names.taken.has(key);
    for (const claim of claimants.filter((one) => one !== winner))
      refused.push({ facts: claim.facts, reason: explainRefused(claim, claimants, winner, isBuiltIn) });
  }
  for (const { facts } of unusable)
    refused.push({
      facts,
      reason: `${facts.inlineOnly} must be the name of an argument, since the tool runs in a process of its own.`,
    });
  return {
    offer: {
      tools: winners.map(createTool),
      unavailable: [...refused, ...[...states].flatMap(listUnloaded)],
      outdated: new Map(winners.flatMap((winner) => listOutdated(winner, states))),
    },
    refused,
    holders: new Map(winners.map(({ fileName, facts }) => [buildClaimKey(facts), fileName])),
  };
};

const split = <Item>(items: readonly Item[], matches: (item: Item) => boolean): [Item[], Item[]] => [
  items.filter(matches),
  items.filter((item) => !matches(item)),
];

const listOutdated = ({ fileName, facts: { role, name } }: Claim, states: FileStates) => {
  const failure = states.get(fileName)?.failure ?? null;
  return failure === null || role === 'reducer' ? [] : [[name, formatProblem(failure)] as const];
};

/** Tools of which nothing is known but a name: their file never loaded, or does not export them. */
const listUnloaded = ([fileName, { good, failure, declared, problems }]: readonly [string, FileState]) => {
  const create = (name: string, description: string, problem: LoadProblem): UnavailableTool =>
    createUnloadedTool({ name, description, source: describeSource(fileName) }, formatProblem(problem));
  const known = declared.length === 0 ? [guessToolName(fileName)] : declared;
  const unloaded = good === null && failure !== null ? known.map((name) => create(name, UNLOADED, failure)) : [];
  const unserved = problems.flatMap((problem) => {
    const { level, tool } = problem;
    return level === 'error' && tool !== null && isToolName(tool) ? [create(tool, UNSERVED, problem)] : [];
  });
  return [...unloaded, ...unserved];
};

/** All that is wrong with the files: what each has of its own, and tools that do not serve beside those of others. */
export const listProblems = (states: FileStates, { refused }: Settled): readonly LoadProblem[] => [
  ...[...states.values()].flatMap(({ failure, problems }) => [failure ?? [], ...problems].flat()),
  ...refused.flatMap(({ facts, reason }) => {
    const file = states.get(facts.source.slice(describeSource('').length))?.good?.file;
    return file === undefined
      ? []
      : [createLoadProblem(file, { message: reason, tool: facts.name, place: facts.place })];
  }),
];

const listClaims = ([fileName, { good }]: readonly [string, FileState]): readonly Claim[] =>
  good?.tools.map((facts) => ({
    fileName,
    version: good,
    facts: { ...facts, source: describeSource(fileName) },
  })) ?? [];

// A tool that could not run here takes no name from one that can.
const isUnusable = ({ version, facts }: Claim): boolean =>
  facts.inlineOnly !== null && findInline(version, facts) === undefined;

const decideWinner = (key: string, claimants: readonly Claim[], { taken, holders }: Names): Claim | null => {
  if (taken.has(key)) return null;
  const candidates =
    claimants.length === 1 ? claimants : claimants.filter(({ fileName }) => fileName === holders.get(key));
  // Twice in one file: it is not known which of the two was meant.
  return candidates.length === 1 ? (candidates[0] ?? null) : null;
};

const createTool = ({ version, facts }: Claim): Tool => {
  const inline = findInline(version, facts);
  if (inline !== undefined) return { ...inline, source: facts.source } satisfies InlineTool;
  const { inlineOnly: _inlineOnly, holds: _holds, place: _place, handlerTexts: _texts, ...known } = facts;
  return { ...known, runsIn: 'host', file: version.file } satisfies HostedTool;
};

/** Names that differ only in what providers cannot carry appear as the one by which providers know them. */
const explainRefused = (
  { fileName, facts: { role, name } }: Claim,
  claimants: readonly Claim[],
  winner: Claim | null,
  isBuiltIn: boolean,
): string => {
  const advice = `Rename the one in ${fileName}.`;
  const shared = role === 'tool' ? toPortableName(name) : name;
  if (isBuiltIn) return `The service has a built-in ${role} called '${shared}'. ${advice}`;
  if (winner !== null)
    return `${winner.fileName} already provides '${winner.facts.name}' and continues to serve it. ${advice}`;
  const files = new Set(claimants.map((claim) => claim.fileName));
  const places = [...new Set(claimants.map(formatClaim))].sort((one, other) =>
    one.localeCompare(other, 'en', { numeric: true }),
  );
  const who = files.size === 1 ? `${fileName} provides several ${role}s` : `Several files provide a ${role}`;
  return `${who} called '${shared}': ${places.join(', ')}. None is available: rename all but one, or export it once.`;
};

/** `rooms.ts:12:3`, where the line is known. */
const formatClaim = ({ fileName, facts: { place }, version }: Claim): string =>
  place === null ? fileName : formatPlace({ ...place, file: relative(version.file.root, place.path) });

const UNLOADED = 'Its file cannot be loaded, so nothing is known of the tool.';
const UNSERVED = 'Its file does not export this tool.';

/** `billing/my tools.ts` → `my_tools`: something that a tool could be called. */
const guessToolName = (fileName: string): string => {
  const stem = fileName.replace(/^.*\//, '').replace(/\.m?[jt]s$/, '');
  const name = stem.replace(/[^A-Za-z0-9_.-]/g, '_').slice(0, 64);
  return name === '_unknown' || name === '_other' || name === '' ? 'tool' : name;
};
