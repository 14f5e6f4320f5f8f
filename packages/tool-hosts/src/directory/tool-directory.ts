import type { ToolFacts, ToolFile } from 'recourse-server/tools/tool';
import type { ToolOffer, UnavailableTool } from 'recourse-server/tools/tool-offer';
import {
  type DirectoryLog,
  type FileState,
  type FileStates,
  type LoadOptions,
  loadChangedFiles,
  needsHosts,
} from './file-versions.ts';
import { formatProblem, formatProblemLine, type LoadProblem } from './load-problem.ts';
import { type DirectorySnapshot, readDirectory, scanDirectory } from './read-directory.ts';
import { buildClaimKey, listProblems, type Settled, settleNames } from './settle-names.ts';

export type ToolDirectoryOptions = LoadOptions & {
  readonly root: string;
  /** What is wrong with where the directory and its files lie, by each version of it; left out: nothing ever is. */
  readonly check?: (paths: readonly string[]) => Promise<readonly string[]>;
  /** Gets all that is offered, whenever files changed, in place of what was offered before. */
  readonly register: (offer: ToolOffer) => void;
  /** Gets the counts of files by state, whenever files changed. */
  readonly onFiles?: (counts: ReturnType<typeof countFiles>) => void;
  /** The service's own tools and reducers. */
  readonly taken: Iterable<Pick<ToolFacts, 'role' | 'name'>>;
  /** How long to wait between two looks at the directory. Default 500. */
  readonly pollMs?: number;
  /** How long to wait before files whose process broke are tried again; then twice as long each time. Default 5,000. */
  readonly againMs?: number;
};

export type DirectoryProblems = {
  /** `older`: the tools of an older version that serves meanwhile; null: none does. */
  readonly found: readonly (LoadProblem & { readonly older: readonly string[] | null })[];
  /** The same, each as one line with its place. */
  readonly lines: readonly string[];
  /** A file never loaded, and its text does not say what its tools are called. */
  readonly hasUnnamed: boolean;
};

/** What a directory holds at one moment. */
type DirectoryMoment = { readonly states: FileStates; readonly settled: Settled };

const LONGEST_AGAIN_MS = 600_000;

/**
 * Offers the tools of a directory, and what becomes of them while its files change. Polled: inotify does not see what
 * another machine changes on a share.
 */
export class ToolDirectory {
  readonly #options: ToolDirectoryOptions;
  readonly #taken: ReadonlySet<string>;
  #now: DirectoryMoment;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  /** What serves now was made of it. */
  #applied: DirectorySnapshot | null = null;
  /** The fingerprint of the last look. */
  #seen = '';
  #trouble = '';
  /** When files are tried again whose process broke, by the monotonic clock: that long after they were last tried. */
  #again = { at: Number.POSITIVE_INFINITY, afterMs: 0 };

  constructor(options: ToolDirectoryOptions) {
    this.#options = options;
    this.#taken = new Set([...options.taken].map(buildClaimKey));
    this.#now = this.#toMoment(new Map(), new Map());
  }

  /**
   * Resolves when every file is loaded or has failed, and watches from then on. Rejects with one sentence for people
   * where the directory cannot be read.
   */
  async start(): Promise<void> {
    this.#applied = await this.#read();
    this.#seen = this.#applied.fingerprint;
    await this.#apply(this.#applied);
    this.#lookLater();
  }

  /** From now on nothing is registered, and no file is retired. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** What keeps files or tools of it from serving in their newest version, and whether any file may have tools of any name. */
  problems(): DirectoryProblems {
    const { states, settled } = this.#now;
    const isUnnamed = ({ good, failure, declared }: FileState): boolean =>
      good === null && failure !== null && declared.length === 0;
    const found = listProblems(states, settled).filter(({ level }) => level === 'error');
    const older = new Map<LoadProblem, readonly string[]>();
    for (const { failure, good } of states.values())
      if (failure !== null && good !== null)
        older.set(
          failure,
          good.tools.map(({ name }) => name),
        );
    return {
      found: found.map((problem) => ({ ...problem, older: older.get(problem) ?? null })),
      lines: found.map(formatProblemLine),
      hasUnnamed: [...states.values()].some(isUnnamed),
    };
  }

  /** Tears down what its tools hold inside the service. Never rejects. */
  closeInline(): Promise<void> {
    return closeInlineTools(this.#now.states, new Map(), this.#options.log);
  }

  #lookLater(): void {
    if (!this.#isStopped) this.#timer = setTimeout(() => void this.#lookAgain(), this.#options.pollMs ?? 500).unref();
  }

  async #lookAgain(): Promise<void> {
    const trouble = await this.#look().then(() => '', String);
    if (this.#isStopped) return;
    // Said once. What serves goes on serving, whatever happens to the directory.
    if (trouble !== '' && trouble !== this.#trouble)
      this.#options.log.warn({ reason: trouble }, 'tools directory cannot be read');
    this.#trouble = trouble;
    this.#lookLater();
  }

  async #look(): Promise<void> {
    const { fingerprint } = await scanDirectory(this.#options.root);
    const standsStill = fingerprint === this.#seen;
    this.#seen = fingerprint;
    // Applied once two looks agree: editors save in steps, a deployment copies file by file.
    if (!standsStill) return;
    // A machine that was too busy when the service started must not keep tools away for good.
    if (fingerprint === this.#applied?.fingerprint)
      return performance.now() < this.#again.at ? undefined : this.#apply(this.#applied, 'broken');
    this.#applied = await this.#read(this.#applied?.sources);
    if (!this.#isStopped) await this.#apply(this.#applied);
  }

  async #read(previous?: DirectorySnapshot['sources']): Promise<DirectorySnapshot> {
    const { root, check } = this.#options;
    const snapshot = await readDirectory(root, previous);
    const mistakes = (await check?.([root, ...snapshot.sources.keys()])) ?? [];
    if (mistakes.length > 0) throw new Error(mistakes.join(' '));
    return snapshot;
  }

  async #apply(snapshot: DirectorySnapshot, which: 'changed' | 'broken' = 'changed'): Promise<void> {
    const { register, onFiles, hosts, log, againMs = 5000 } = this.#options;
    const before = this.#now;
    const states = await loadChangedFiles(before.states, snapshot, this.#options, which);
    if (this.#isStopped) return;
    const afterMs = which === 'changed' ? againMs : Math.min(this.#again.afterMs * 2, LONGEST_AGAIN_MS);
    const isAny = [...states.values()].some(({ isBroken }) => isBroken);
    this.#again = { at: isAny ? performance.now() + afterMs : Number.POSITIVE_INFINITY, afterMs };
    if (which === 'broken' && isAsBefore(before.states, states)) return;
    this.#now = this.#toMoment(states, before.settled.holders);
    register(this.#now.settled.offer);
    onFiles?.(countFiles(states));
    // Only now: until here calls came in for them.
    for (const file of filesGone(before.states, states)) hosts.retire(file);
    void closeInlineTools(before.states, states, log);
    logChanges(before, this.#now, log);
  }

  #toMoment(states: FileStates, holders: ReadonlyMap<string, string>): DirectoryMoment {
    return { states, settled: settleNames(states, { taken: this.#taken, holders }) };
  }
}

const isAsBefore = (before: FileStates, now: FileStates): boolean =>
  [...now].every(([file, { good, failure }]) => {
    const known = before.get(file);
    return known?.good === good && known.failure?.message === failure?.message;
  });

/** Files by what serves of them: their newest version, an older one because that cannot be loaded, or nothing. */
const countFiles = (states: FileStates) => {
  const counts = { serving: 0, stale: 0, unavailable: 0 };
  for (const { good, failure } of states.values()) {
    if (failure === null) counts.serving += 1;
    else if (good === null) counts.unavailable += 1;
    else counts.stale += 1;
  }
  return counts;
};

/** Versions that had hosts before and need none now. */
const filesGone = (before: FileStates, now: FileStates): readonly ToolFile[] => {
  const filesOf = (states: FileStates): readonly ToolFile[] =>
    [...states.values()].flatMap(({ good }) => (good !== null && needsHosts(good) ? [good.file] : []));
  const serving = new Set(filesOf(now));
  return filesOf(before).filter((file) => !serving.has(file));
};

/** Tears down what tools hold that run inside the service, of the versions that are in `before` and not in `now`. Never rejects. */
const closeInlineTools = async (before: FileStates, now: FileStates, log: DirectoryLog): Promise<void> => {
  const serving = new Set([...now.values()].map(({ good }) => good));
  const gone = [...before.values()].flatMap(({ good }) => (good === null || serving.has(good) ? [] : [good]));
  const tools = gone.flatMap(({ inline }) => [...inline.values()]);
  const closings = await Promise.allSettled(tools.map((tool) => tool.close?.()));
  for (const [index, closing] of closings.entries())
    if (closing.status === 'rejected')
      log.warn({ tool: tools[index]?.name, err: closing.reason }, 'the teardown of a tool failed');
};

/** One line for every file that cannot be loaded and every tool or reducer that does not serve, once; and one for what does. */
const logChanges = (before: DirectoryMoment, now: DirectoryMoment, log: DirectoryLog): void => {
  for (const [file, state] of now.states) logFile(file, before.states.get(file), state, log);
  const toKey = ({ facts, reason }: UnavailableTool): string => `${facts.source} ${facts.role} ${reason}`;
  const reported = new Set(before.settled.refused.map(toKey));
  for (const { facts, reason } of now.settled.refused.filter((refused) => !reported.has(toKey(refused)))) {
    const { role, name, source } = facts;
    if (role === 'tool') log.warn({ tool: name, source, reason }, 'tool is unavailable');
    else log.warn({ reducer: name, source, reason }, 'reducer is unavailable');
  }
  const { tools, unavailable } = now.settled.offer;
  const namesOf = (role: ToolFacts['role']): readonly string[] =>
    tools.flatMap((tool) => (tool.role === role ? [tool.name] : [])).sort();
  const names = { tools: namesOf('tool'), reducers: namesOf('reducer') };
  log.info({ ...names, unavailable: unavailable.map(({ facts }) => facts.name).sort() }, 'tools directory loaded');
};

const logFile = (
  file: string,
  before: FileState | undefined,
  { failure, good, problems }: FileState,
  log: DirectoryLog,
): void => {
  const reported = new Set([before?.failure ?? [], before?.problems ?? []].flat().map(formatProblem));
  const isNew = (problem: LoadProblem): boolean => !reported.has(formatProblem(problem));
  if (failure !== null && isNew(failure)) {
    const serves = good === null ? 'none' : 'previous version';
    log.warn({ file, ...listFields(failure), serves }, 'tool file cannot be loaded');
  }
  for (const problem of problems.filter(isNew)) log.warn({ file, ...listFields(problem) }, 'tool file has a problem');
};

/** What is known of where and what, for those who search a log. */
const listFields = (problem: LoadProblem): Readonly<Record<string, unknown>> => {
  const { line, column, tool, member, excerpt } = problem;
  const details = Object.entries({ line, column, tool, member, excerpt });
  return { reason: formatProblemLine(problem), ...Object.fromEntries(details.filter(([, value]) => value !== null)) };
};
