import { relative } from 'node:path';
import { isToolName, toPortableName } from 'recourse-server/contract/tool-names';
import type { HostedTool, InlineTool, Tool, ToolFacts } from 'recourse-server/tools/tool';
import { createUnloadedTool, type ToolOffer, type UnavailableTool } from 'recourse-server/tools/tool-offer';
import { type FileStates, type FileVersion, findInline } from './file-versions.ts';
import { type LoadProblem, toLoadProblem, toPlaceText, toProblemText } from './load-problem.ts';
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
export const toSource = (fileName: string): string => `TOOLS_DIR/${fileName}`;

/**
 * What a name is taken under: a reducer may be called like a tool, and two tools may not come to one portable name,
 * by which a model calls them.
 */
export const toClaimKey = ({ role, name }: Pick<ToolFacts, 'role' | 'name'>): string =>
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
  const declared = [...states].flatMap(([fileName, { good }]) => toClaims(fileName, good));
  const [unfit, fit] = [declared.filter(isUnfit), declared.filter((claim) => !isUnfit(claim))];
  const claims = Map.groupBy(fit, ({ facts }) => toClaimKey(facts));
  const contests = [...claims].map(([key, claimants]) => ({ claimants, winner: toWinner(key, claimants, names) }));
  const winners = contests.flatMap(({ winner }) => winner ?? []);
  const clashes = contests.flatMap(({ claimants, winner }) =>
    claimants.flatMap((claim) => (claim === winner ? [] : toRefused(claim, claimants, winner, names))),
  );
  const outdated = winners.flatMap(({ fileName, facts }) => {
    const failure = states.get(fileName)?.failure ?? null;
    return failure === null || facts.role === 'reducer' ? [] : [[facts.name, toProblemText(failure)] as const];
  });
  const unloaded = [...states].flatMap(([fileName, { good, failure, declared }]) => {
    if (good !== null || failure === null) return [];
    const known = declared.length === 0 ? [toToolName(fileName)] : declared;
    const source = toSource(fileName);
    return known.map((name) => createUnloadedTool({ name, description: UNLOADED, source }, toProblemText(failure)));
  });
  const unserved = [...states].flatMap(([fileName, { problems }]) =>
    problems.flatMap((problem) =>
      problem.level === 'error' && problem.tool !== null && isToolName(problem.tool)
        ? [
            createUnloadedTool(
              { name: problem.tool, description: UNSERVED, source: toSource(fileName) },
              toProblemText(problem),
            ),
          ]
        : [],
    ),
  );
  const refused = [...clashes, ...unfit.map(toUnfit)];
  return {
    offer: {
      tools: winners.map(toTool),
      unavailable: [...refused, ...unloaded, ...unserved],
      outdated: new Map(outdated),
    },
    refused,
    holders: new Map(winners.map(({ fileName, facts }) => [toClaimKey(facts), fileName])),
  };
};

/** All that is wrong with the files: what each has of its own, and tools that do not serve beside those of others. */
export const listProblems = (states: FileStates, { refused }: Settled): readonly LoadProblem[] => [
  ...[...states.values()].flatMap(({ failure, problems }) => [failure ?? [], ...problems].flat()),
  ...refused.flatMap(({ facts, reason }) => {
    const file = states.get(facts.source.slice(toSource('').length))?.good?.file;
    return file === undefined ? [] : [toLoadProblem(file, { message: reason, tool: facts.name, place: facts.place })];
  }),
];

const toClaims = (fileName: string, version: FileVersion | null): readonly Claim[] =>
  version === null
    ? []
    : version.tools.map((facts) => ({ fileName, version, facts: { ...facts, source: toSource(fileName) } }));

// A tool that could not run here takes no name from one that can.
const isUnfit = ({ version, facts }: Claim): boolean =>
  facts.inlineOnly !== null && findInline(version, facts) === undefined;

const toUnfit = ({ facts }: Claim): RefusedTool => ({
  facts,
  reason: `${facts.inlineOnly} must be the name of an argument, since the tool runs in a process of its own.`,
});

const toWinner = (key: string, claimants: readonly Claim[], { taken, holders }: Names): Claim | null => {
  if (taken.has(key)) return null;
  const candidates =
    claimants.length === 1 ? claimants : claimants.filter(({ fileName }) => fileName === holders.get(key));
  // Twice in one file: nothing tells which of the two was meant.
  return candidates.length === 1 ? (candidates[0] ?? null) : null;
};

const toTool = ({ version, facts }: Claim): Tool => {
  const inline = findInline(version, facts);
  if (inline !== undefined) return { ...inline, source: facts.source } satisfies InlineTool;
  const { inlineOnly: _inlineOnly, holds: _holds, place: _place, ...known } = facts;
  return { ...known, runsIn: 'host', file: version.file } satisfies HostedTool;
};

const toRefused = (
  { fileName, facts }: Claim,
  claimants: readonly Claim[],
  winner: Claim | null,
  { taken }: Names,
): RefusedTool => {
  const { role, name } = facts;
  const refuse = (reason: string): RefusedTool => ({ facts, reason });
  const portable = role === 'tool' ? toPortableName(name) : name;
  if (taken.has(toClaimKey(facts)))
    return refuse(
      `The service has a built-in ${role} ${portable === name ? `called '${name}'` : `that providers also know as '${portable}'`}. Rename the one in ${fileName}.`,
    );
  if (winner !== null)
    return refuse(
      `${winner.fileName} already provides '${winner.facts.name}' and continues to serve it${winner.facts.name === name ? '' : `; providers know both as '${portable}'`}. Rename the one in ${fileName}.`,
    );
  return refuse(
    claimants.some((claim) => claim.facts.name !== name)
      ? reportTwins(portable, claimants)
      : reportSame(facts, claimants),
  );
};

const filesOf = (claimants: readonly Claim[]): readonly string[] => [
  ...new Set(claimants.map(({ fileName }) => fileName)),
];

const reportSame = ({ role, name }: LoadedFacts, claimants: readonly Claim[]): string => {
  const files = filesOf(claimants);
  const sorted = [...new Set(claimants.map(placeOf))].sort((one, other) =>
    one.localeCompare(other, 'en', { numeric: true }),
  );
  const places = sorted.join(', ');
  return files.length === 1
    ? `${files[0]} exports several ${role}s called '${name}'${places === files[0] ? '' : `: ${places}`}. Rename all but one.`
    : `Several files provide a ${role} called '${name}': ${places}. None is available: rename all but one, or export it once.`;
};

/** `rooms.ts:12:3`, where the line is known. */
const placeOf = ({ fileName, facts: { place }, version }: Claim): string =>
  place === null ? fileName : toPlaceText({ ...place, file: relative(version.file.root, place.path) });

/** Of tools whose names differ only in what providers cannot carry. */
const reportTwins = (portable: string, claimants: readonly Claim[]): string => {
  const named = claimants.map(({ fileName, facts }) => `'${facts.name}' of ${fileName}`);
  return `Providers know several tools as '${portable}': ${named.join(', ')}. None is available: rename all but one.`;
};

const UNLOADED = 'Its file cannot be loaded, so nothing is known of the tool.';
const UNSERVED = 'Its file does not export this tool.';

/** `billing/my tools.ts` → `my_tools`: something that a tool could be called. */
const toToolName = (fileName: string): string => {
  const stem = fileName.replace(/^.*\//, '').replace(/\.m?[jt]s$/, '');
  const name = stem.replace(/[^A-Za-z0-9_.-]/g, '_').slice(0, 64);
  return name === '_unknown' || name === '_other' || name === '' ? 'tool' : name;
};
