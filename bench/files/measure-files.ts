import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createFileSearch,
  DEFAULT_SEARCH_LIMITS,
  type FileSearch,
  searchText,
} from '@recourse/toolkit-kit/workspace/search-thread';
import { createWorkspace, type Workspace } from '@recourse/toolkit-kit/workspace/workspace';
import type { Part } from '../part.ts';
import { summarise } from '../summarise.ts';

export type SearchSeries = {
  readonly what: string;
  readonly searchMs: number;
  readonly grepMs: number;
  /** The median of the ratios of each round. */
  readonly ratio: number;
};

export type FilesMeasured = {
  readonly files: number;
  readonly megabytes: number;
  readonly series: readonly SearchSeries[];
};

const ROUNDS = 7;
const DIRECTORIES = 600;
const FILES_EACH = 50;
const LINES_EACH = [10, 40, 65, 90, 120] as const;
const LINE = 'const value = await readTheNext(part, of, this); // 60 bytes\n';
const NEEDLE = 'the needle in the haystack';

const QUERIES = { 'one line in the last file': NEEDLE, 'nothing found': 'no such text anywhere' } as const;

/** Measures `search_files` inside this process against `grep -rF`, on the same tree in the same round, both warm. */
export const measureFiles = async ({ surroundings, progress }: Part): Promise<FilesMeasured> => {
  const root = join(surroundings.directory, 'files');
  const megabytes = writeTree(root) / 1e6;
  progress(`files: ${DIRECTORIES * FILES_EACH} written, ${megabytes.toFixed(0)} MB`);
  const files = createFileSearch();
  try {
    const workspace = await createWorkspace({ root });
    const series: SearchSeries[] = [];
    for (const [what, query] of Object.entries(QUERIES)) {
      const searched = { workspace, files, query, found: query === NEEDLE ? 1 : 0 };
      const row = await measureQuery(what, searched, ROUNDS);
      progress(`files: ${what}: ${row.searchMs.toFixed(0)} ms, grep ${row.grepMs.toFixed(0)} ms`);
      series.push(row);
    }
    return { files: DIRECTORIES * FILES_EACH, megabytes, series };
  } finally {
    await files.close();
    rmSync(root, { recursive: true });
  }
};

/** Gives the bytes. */
const writeTree = (root: string): number => {
  let bytes = 0;
  for (let directory = 0; directory < DIRECTORIES; directory += 1) {
    const path = join(root, `area-${directory % 10}`, `part-${directory % 60}`, `unit-${directory}`);
    mkdirSync(path, { recursive: true });
    for (let file = 0; file < FILES_EACH; file += 1) {
      const text = LINE.repeat(LINES_EACH[file % LINES_EACH.length] ?? 1);
      writeFileSync(join(path, `file-${file}.ts`), text);
      bytes += text.length;
    }
  }
  appendFileSync(join(root, 'area-9', 'part-59', 'unit-599', 'file-49.ts'), NEEDLE);
  return bytes;
};

type Searched = {
  readonly workspace: Workspace;
  readonly files: FileSearch;
  readonly query: string;
  /** How many lines must be found. */
  readonly found: number;
};

const measureQuery = async (what: string, searched: Searched, rounds: number): Promise<SearchSeries> => {
  await search(searched);
  await grep(searched);
  const searchMs: number[] = [];
  const grepMs: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    searchMs.push(await timeOf(() => search(searched)));
    grepMs.push(await timeOf(() => grep(searched)));
  }
  const ratios = searchMs.map((ms, round) => ms / (grepMs[round] ?? Number.NaN));
  return {
    what,
    searchMs: summarise(searchMs).median,
    grepMs: summarise(grepMs).median,
    ratio: summarise(ratios).median,
  };
};

const timeOf = async (run: () => Promise<void>): Promise<number> => {
  const started = performance.now();
  await run();
  return performance.now() - started;
};

const search = async ({ workspace, files, query, found }: Searched): Promise<void> => {
  const signal = new AbortController().signal;
  const asked = { query, path: '.', signal, limits: DEFAULT_SEARCH_LIMITS, timeoutMs: 30_000 };
  const { matches, truncated } = await searchText(workspace, files, asked);
  if (matches.length !== found || truncated) throw new Error(`search_files found ${matches.length} lines.`);
};

// Exit code 1 says that nothing was found.
const grep = async ({ workspace, query, found }: Searched): Promise<void> => {
  const child = spawn('grep', ['-rF', query, workspace.root], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== (found === 0 ? 1 : 0)) throw new Error(`grep ended with ${code}.`);
};
