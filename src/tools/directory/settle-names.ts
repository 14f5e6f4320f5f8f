import type { ToolOffer, UnavailableTool } from '../registry.ts';
import type { HostedTool, InlineTool, Tool, ToolFacts } from '../tool.ts';
import type { FileStates, FileVersion } from './file-versions.ts';

export type Names = {
  /** Names of the service's own tools. */
  readonly taken: ReadonlySet<string>;
  /** Tool name → the file whose tool of that name serves now. */
  readonly holders: ReadonlyMap<string, string>;
};

export type Settled = {
  readonly offer: ToolOffer;
  /** Those unavailable tools of the offer that lost, or share, their name. */
  readonly clashes: readonly UnavailableTool[];
  readonly holders: ReadonlyMap<string, string>;
};

/** Where a tool of the directory comes from, for people. */
export const toSource = (fileName: string): string => `TOOLS_DIR/${fileName}`;

/** A tool as one file declares it. */
type Claim = {
  readonly fileName: string;
  readonly version: FileVersion;
  readonly facts: ToolFacts;
};

/**
 * Who may use which name. A name that two files claim goes to the one that serves it already, and to neither where
 * none does; a name of the service's own is never given away.
 */
export const settleNames = (states: FileStates, names: Names): Settled => {
  const claims = Map.groupBy(
    [...states].flatMap(([fileName, { good }]) => toClaims(fileName, good)),
    ({ facts }) => facts.name,
  );
  const contests = [...claims].map(([name, claimants]) => ({ claimants, winner: toWinner(name, claimants, names) }));
  const winners = contests.flatMap(({ winner }) => winner ?? []);
  const clashes = contests.flatMap(({ claimants, winner }) =>
    claimants.flatMap((claim) => (claim === winner ? [] : toRefused(claim, claimants, winner, names))),
  );
  const outdated = winners.flatMap(({ fileName, facts }) => {
    const failure = states.get(fileName)?.failure ?? null;
    return failure === null ? [] : [[facts.name, failure] as const];
  });
  const unloaded = [...states].flatMap(([fileName, { good, failure }]) =>
    good === null && failure !== null ? [toUnloaded(fileName, failure)] : [],
  );
  return {
    offer: { tools: winners.map(toTool), unavailable: [...clashes, ...unloaded], outdated: new Map(outdated) },
    clashes,
    holders: new Map(winners.map(({ fileName, facts }) => [facts.name, fileName])),
  };
};

const toClaims = (fileName: string, version: FileVersion | null): readonly Claim[] =>
  version === null
    ? []
    : version.tools.map((facts) => ({ fileName, version, facts: { ...facts, source: toSource(fileName) } }));

const toWinner = (name: string, claimants: readonly Claim[], { taken, holders }: Names): Claim | null => {
  if (taken.has(name)) return null;
  const candidates =
    claimants.length === 1 ? claimants : claimants.filter(({ fileName }) => fileName === holders.get(name));
  // Twice in one file: nothing tells which of the two was meant.
  return candidates.length === 1 ? (candidates[0] ?? null) : null;
};

const toTool = ({ version, facts }: Claim): Tool => {
  const inline = version.inline.get(facts.name);
  if (inline !== undefined) return { ...inline, source: facts.source } satisfies InlineTool;
  return { ...facts, runsIn: 'host', file: version.file } satisfies HostedTool;
};

const toRefused = (
  { fileName, facts }: Claim,
  claimants: readonly Claim[],
  winner: Claim | null,
  { taken }: Names,
): UnavailableTool => {
  const { name } = facts;
  const refuse = (reason: string): UnavailableTool => ({ facts, reason });
  if (taken.has(name))
    return refuse(`The service has a tool of its own called '${name}'. Rename the one in ${fileName}.`);
  if (winner !== null)
    return refuse(`${winner.fileName} offers '${name}' already and goes on serving it. Rename the one in ${fileName}.`);
  const files = [...new Set(claimants.map((claim) => claim.fileName))];
  return refuse(
    files.length === 1
      ? `${fileName} exports several tools called '${name}'. Rename all but one.`
      : `Several files offer a tool called '${name}': ${files.join(', ')}. None serves: rename all but one, or export it once.`,
  );
};

// Of a file that never loaded nothing is known: the most cautious is said.
const toUnloaded = (fileName: string, reason: string): UnavailableTool => ({
  facts: {
    name: toToolName(fileName),
    description: 'This file cannot be loaded, so it is not known which tools it offers.',
    effects: 'write',
    inputSchema: { type: 'object' },
    outputSchema: null,
    retries: 0,
    timeoutMs: 30_000,
    gracefulErrors: null,
    sequential: false,
    concurrency: null,
    source: toSource(fileName),
    exampleArguments: '{}',
    isolation: 'process',
    env: [],
  },
  reason,
});

/** `billing/my tools.ts` → `my_tools`: something that a tool could be called. */
const toToolName = (fileName: string): string => {
  const stem = fileName.replace(/^.*\//, '').replace(/\.m?[jt]s$/, '');
  const name = stem.replace(/[^A-Za-z0-9_.-]/g, '_').slice(0, 64);
  return name === '_unknown' || name === '_other' || name === '' ? 'tool' : name;
};
