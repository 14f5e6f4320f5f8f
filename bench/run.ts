import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claimCores } from './cores.ts';
import { describeSurroundings } from './describe-surroundings.ts';
import { measureIsolation } from './isolation/measure-isolation.ts';
import { measureEdges } from './measure-edges.ts';
import { startLoad } from './measure-load.ts';
import { type Contender, measureServers, type Series } from './measure-servers.ts';
import { measureStart, type Start, type Starts } from './measure-start.ts';
import { loadOptions, type Options, PARTS } from './options.ts';
import { createProcesses } from './processes.ts';
import { createRedisServers } from './redis-servers.ts';
import { type Server, type Surroundings, startBareRoute, startService } from './servers.ts';
import { measureSessions } from './sessions/measure-sessions.ts';
import { measureTelemetry } from './telemetry/measure-telemetry.ts';
import { toReport } from './to-report.ts';

const RESULTS = join(import.meta.dirname, 'results.md');
const STARTS = 5;

const say = (line: string): void => {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
};

const bench = async (options: Options, surroundings: Surroundings): Promise<void> => {
  const settings = describeSurroundings(options, surroundings.cores);
  for (const line of settings) say(line);
  const starts = options.parts.includes('start') ? await measureStarts(surroundings) : null;
  const series = options.parts.includes('bare') ? await measureAll(options, surroundings) : [];
  const isolation = await measureIsolation({ options, surroundings, progress: say });
  const sessions = options.parts.includes('sessions')
    ? await measureSessions({ options, surroundings, progress: say })
    : null;
  const telemetry = options.parts.includes('telemetry')
    ? await measureTelemetry({ options, surroundings, progress: say })
    : [];
  const edges = await measureEdges({ options, surroundings, progress: say });
  const report = toReport({ series, starts, isolation, sessions, telemetry, edges, settings });
  process.stdout.write(`\n${report}\n`);
  if (options.parts.length < PARTS.length) return say('Only parts were measured: bench/results.md stays as it was.');
  writeFileSync(RESULTS, `${report}\n`);
  say('Written to bench/results.md.');
};

const measureStarts = async (surroundings: Surroundings): Promise<Starts> => {
  const first = await measureStart(surroundings);
  say(`first start, nothing compiled yet: ${showStart(first)}`);
  const later: Start[] = [];
  for (let count = 1; count <= STARTS; count += 1) {
    const start = await measureStart(surroundings);
    later.push(start);
    say(`start ${count} of ${STARTS}: ${showStart(start)}`);
  }
  return { first, later };
};

const showStart = ({ firstAnswerMs, idleMb }: Start): string =>
  `${firstAnswerMs.toFixed(0)} ms, idle ${idleMb.toFixed(0)} MB`;

const measureAll = async (options: Options, surroundings: Surroundings): Promise<readonly Series[]> => {
  const contenders = new Map<Contender, Server>([['bare', await startBareRoute(surroundings)]]);
  if (options.parts.includes('embedded')) contenders.set('embedded', await startService(surroundings, null));
  if (options.parts.includes('redis')) {
    const { url } = await surroundings.redisServers.start();
    contenders.set('redis', await startService(surroundings, url));
  }
  if (options.parts.includes('failing')) contenders.set('failing', await startService(surroundings, null));
  const series = await measureServers(contenders, startLoad(surroundings), options, say);
  // What is measured next should have its core for itself.
  for (const server of contenders.values()) await server.process.end();
  await surroundings.redisServers.stopAll();
  return series;
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
