import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startAsking } from './ask-process.ts';
import { claimCores } from './cores.ts';
import { describeSurroundings } from './describe-surroundings.ts';
import { measureFiles } from './files/measure-files.ts';
import { toFilesSection } from './files/to-files-section.ts';
import { measureFormats } from './formats/measure-formats.ts';
import { measureGrowth } from './growth/measure-growth.ts';
import { measureKill } from './isolation/measure-kill.ts';
import { measureOverload } from './isolation/measure-overload.ts';
import { toKillSection } from './isolation/to-kill-section.ts';
import { toOverloadSection } from './isolation/to-overload-section.ts';
import { measureMain } from './main/measure-main.ts';
import { measureMemory } from './memory/measure-memory.ts';
import { measureNotes } from './notes/measure-notes.ts';
import { toNotesSection } from './notes/to-notes-section.ts';
import { loadOptions, type Options, type PartName } from './options.ts';
import type { Part } from './part.ts';
import { measurePending } from './pending/measure-pending.ts';
import { createProcesses } from './processes.ts';
import { createRedisServers } from './redis-servers.ts';
import { writeResults } from './results-file.ts';
import type { Surroundings } from './servers.ts';
import { measureSessions } from './sessions/measure-sessions.ts';
import { measureSqlite } from './sessions/measure-sqlite.ts';
import { measureSustained } from './sustained/measure-sustained.ts';
import { toSustainedSection } from './sustained/to-sustained-section.ts';
import { measureTelemetry } from './telemetry/measure-telemetry.ts';
import { measureUpstream } from './upstream/measure-upstream.ts';

/** Each gives the paragraphs of its part of the report. */
const MEASURES = {
  main: measureMain,
  growth: measureGrowth,
  sessions: measureSessions,
  sqlite: measureSqlite,
  telemetry: measureTelemetry,
  formats: measureFormats,
  upstream: measureUpstream,
  overload: async (part) => toOverloadSection(await measureOverload(part)),
  kill: async (part) => toKillSection(await measureKill(part)),
  notes: async (part) => toNotesSection(await measureNotes(part)),
  files: async (part) => toFilesSection(await measureFiles(part)),
  memory: measureMemory,
  pending: measurePending,
  sustained: async (part) => toSustainedSection(await measureSustained(part)),
} as const satisfies Record<PartName, (part: Part) => Promise<readonly string[]>>;

const say = (line: string): void => {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
};

const bench = async (options: Options, surroundings: Surroundings): Promise<void> => {
  const part: Part = {
    options,
    surroundings,
    sendSlices: startAsking('slices/send-slices.ts', surroundings),
    progress: say,
  };
  const measured = new Map<PartName, string>();
  for (const name of options.parts) {
    const settings = describeSurroundings(options, surroundings.cores);
    for (const line of [`Part: ${name}`, ...settings]) say(line);
    const [title = '', ...paragraphs] = await MEASURES[name](part);
    const text = [title, settings.map((line) => `- ${line}`).join('\n'), ...paragraphs].join('\n\n');
    measured.set(name, text);
    process.stdout.write(`\n${text}\n`);
  }
  if (!options.isWhole) return say('A short run: bench/results.md and README.md stay as they were.');
  writeResults(measured);
  say('Written to bench/results.md.');
};

/** Closes everything the bench opened, in whichever way it ends. */
const closeAll = async ({ processes, redisServers, directory }: Surroundings): Promise<void> => {
  await processes.endAll();
  await redisServers.stopAll();
  rmSync(directory, { recursive: true, force: true });
};

const closeOnSignals = (surroundings: Surroundings): void => {
  const onSignal = (): void => {
    say('Ending every process of the bench.');
    void closeAll(surroundings).finally(() => process.exit(130));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, onSignal);
};

const main = async (): Promise<void> => {
  const options = loadOptions(process.argv.slice(2));
  const directory = mkdtempSync(join(tmpdir(), 'recourse-bench-'));
  const path = process.env['PATH'] ?? '';
  const processes = createProcesses();
  const redisServers = createRedisServers();
  const surroundings = { cores: claimCores(), processes, redisServers, directory, path };
  closeOnSignals(surroundings);
  try {
    await bench(options, surroundings);
  } finally {
    await closeAll(surroundings);
  }
};

try {
  await main();
} catch (error) {
  process.stderr.write(`bench failed: ${error instanceof Error ? error.message : String(error)}\n`);
  // What was waiting for an answer may still wait.
  process.exit(1);
}
