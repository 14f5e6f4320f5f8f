import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { createNotes } from '@recourse/toolkit-notes/notes-tools';
import type { OpenedTools } from 'recourse-server/extension';
import type { InlineTool } from '../../src/tools/tool.ts';
import type { Part } from '../part.ts';
import { percentileOf } from '../summarise.ts';
import { NOTES, WORDS, writeNotes } from './write-notes.ts';

export type SearchTimes = { readonly what: string; readonly p50: number; readonly p99: number };

export type NotesMeasured = {
  readonly notes: number;
  readonly megabytes: number;
  /** From creating the tools to the first answer of a search. */
  readonly indexMs: number;
  readonly searches: readonly SearchTimes[];
  /** The longest that the event loop waited for anything while it searched. */
  readonly mostBlockedMs: number;
  readonly changes: readonly SearchTimes[];
  /** Shares of one core. */
  readonly idleCpu: number;
  readonly usedCpu: number;
};

const QUERIES = {
  'rare word': WORDS.rare,
  'word in a fifth of the notes': WORDS.middling,
  'common word': WORDS.common,
  'two words, one common': `${WORDS.common} ${WORDS.middling}`,
  'phrase of the two commonest words': `"${WORDS.common} w1s"`,
  'one of three common words': `${WORDS.common} OR w1s OR w2s`,
  'beginning of a word': 'zanz*',
  'nothing found': 'nowhereatall',
} as const satisfies Readonly<Record<string, string>>;

const SEARCHES = 200;
const CHANGES = 20;
const WATCHED_MS = 3000;
// Past this the index rests: nobody has asked for ten seconds.
const UNTIL_IDLE_MS = 12_000;

/** Measures the notes tools inside this process: what a call takes, without HTTP. */
export const measureNotes = async ({ surroundings, progress }: Part): Promise<NotesMeasured> => {
  const root = join(surroundings.directory, 'notes');
  mkdirSync(root);
  const megabytes = (await writeNotes(root)) / 1e6;
  progress(`notes: ${NOTES} written, ${megabytes.toFixed(0)} MB`);
  const ignore = (): void => {};
  const started = performance.now();
  const family = createNotes({ directory: root, log: { info: ignore, warn: ignore, error: ignore } });
  const search = searchOf(family);
  await search(WORDS.rare);
  const indexMs = performance.now() - started;
  progress(`notes: indexed in ${indexMs.toFixed(0)} ms`);
  try {
    const blocked = watchLoop();
    const searches = await timeSearches(search, progress);
    const mostBlockedMs = blocked.stop();
    const changes = await timeChanges(root, search);
    const usedCpu = await cpuShare(WATCHED_MS, () => search(WORDS.rare));
    await wait(UNTIL_IDLE_MS);
    const idleCpu = await cpuShare(WATCHED_MS, async () => undefined);
    return { notes: NOTES, megabytes, indexMs, searches, mostBlockedMs, changes, idleCpu, usedCpu };
  } finally {
    await family.close();
    rmSync(root, { recursive: true });
  }
};

type Search = (query: string) => Promise<string>;

/** Gives the answer as JSON. Throws where it is no success. */
const searchOf = ({ tools }: OpenedTools): Search => {
  const tool = tools.find(({ name }) => name === 'search_notes');
  if (tool === undefined) throw new Error('There is no search_notes.');
  return async (query) => JSON.stringify(await callTool(tool, { query }));
};

const ignore = (): void => {};
const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore } as const;

const callTool = async (tool: InlineTool, input: Readonly<Record<string, unknown>>): Promise<unknown> => {
  const prepared = await tool.prepare(input);
  if (!prepared.ok) throw new Error('The arguments are wrong.');
  return prepared.invocation.run({
    signal: new AbortController().signal,
    session: null,
    callId: null,
    log: SILENT,
    progress: ignore,
    part: ignore,
    effects: 'read',
    retriesLeft: 3,
    timeoutMs: 30_000,
    isLastAttempt: false,
    idempotencyKey: null,
    effectId: 'e_0123456789abcdefghijkl',
    traceparent: null,
    tenant: null,
    caller: null,
  });
};

const timeSearches = async (search: Search, progress: Part['progress']): Promise<readonly SearchTimes[]> => {
  const all: SearchTimes[] = [];
  for (const [what, query] of Object.entries(QUERIES)) {
    const times: number[] = [];
    for (let count = 0; count < SEARCHES; count += 1) {
      const started = performance.now();
      await search(query);
      times.push(performance.now() - started);
    }
    const row = toTimes(what, times);
    progress(`notes: ${what}: p50 ${row.p50.toFixed(1)} ms, p99 ${row.p99.toFixed(1)} ms`);
    all.push(row);
  }
  return all;
};

const toTimes = (what: string, times: readonly number[]): SearchTimes => {
  const sorted = times.toSorted((a, b) => a - b);
  return { what, p50: percentileOf(sorted, 0.5), p99: percentileOf(sorted, 0.99) };
};

/** How long after a change a search shows it, asked every 5 ms, as if many called. */
const timeChanges = async (root: string, search: Search): Promise<readonly SearchTimes[]> => {
  const path = join(root, 'folder-7', 'changing.md');
  const made: number[] = [];
  const changed: number[] = [];
  const renamed: number[] = [];
  const removed: number[] = [];
  for (let count = 0; count < CHANGES; count += 1) {
    made.push(await timeUntil(search, `made${count}`, true, () => writeFileSync(path, `made${count}`)));
    changed.push(await timeUntil(search, `changed${count}`, true, () => writeFileSync(path, `changed${count}`)));
    const other = join(root, 'folder-8', `renamed${count}.md`);
    renamed.push(await timeUntil(search, `renamed${count}`, true, () => renameSync(path, other)));
    removed.push(await timeUntil(search, `renamed${count}`, false, () => rmSync(other)));
  }
  return [toTimes('new', made), toTimes('changed', changed), toTimes('renamed', renamed), toTimes('removed', removed)];
};

const timeUntil = async (search: Search, word: string, isWanted: boolean, change: () => void): Promise<number> => {
  // Anywhere between two scans, as changes come.
  await wait(Math.random() * 600);
  change();
  const started = performance.now();
  while ((await search(word)).includes('"count":1') !== isWanted) await wait(5);
  return performance.now() - started;
};

/** Processor time of this process to the time that passes, with one call a second. */
const cpuShare = async (ms: number, call: () => Promise<unknown>): Promise<number> => {
  const before = process.cpuUsage();
  const started = performance.now();
  while (performance.now() - started < ms) {
    await call();
    await wait(Math.min(1000, ms));
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / (performance.now() - started);
};

const watchLoop = (): { readonly stop: () => number } => {
  let last = performance.now();
  let most = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    most = Math.max(most, now - last - 2);
    last = now;
  }, 2);
  return {
    stop: () => {
      clearInterval(timer);
      return most;
    },
  };
};
