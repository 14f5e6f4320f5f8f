import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import * as z from 'zod';
import { findFreePort } from './redis-server.ts';
import { timeLimit } from './time-limit.ts';
import { watchOver } from './watch-over.ts';

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/recourse/prometheus', import.meta.url));
// It is ready within a second; a machine under full load takes longer.
const START_TIMEOUT_MS = timeLimit(20_000);
const STOP_TIMEOUT_MS = timeLimit(5_000);
// Between finding a free port and listening on it, another process may take it.
const START_ATTEMPTS = 5;

export type PrometheusBinaries = { readonly prometheus: string; readonly promtool: string };

const isExecutable = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
};

const usualPlaces = (): readonly string[] => {
  const chosen = process.env['PROMETHEUS_BIN'] ?? '';
  return chosen === '' ? [...(process.env['PATH'] ?? '').split(delimiter), CACHE] : [chosen];
};

/** Both binaries: in PROMETHEUS_BIN, or on PATH, or where scripts/ensure-prometheus.sh puts them. Throws without them. */
export const findPrometheus = (places: readonly string[] = usualPlaces()): PrometheusBinaries => {
  const find = (name: string): string | undefined =>
    places.map((directory) => join(directory, name)).find(isExecutable);
  const [prometheus, promtool] = [find('prometheus'), find('promtool')];
  if (prometheus === undefined || promtool === undefined)
    throw new Error('There is no prometheus or no promtool: run sh scripts/ensure-prometheus.sh.');
  return { prometheus, promtool };
};

export type PromtoolAnswer = { readonly status: number; readonly output: string };

/** Runs promtool with `input` on its stdin; `output` is all it said, on stdout and stderr. */
export const runPromtool = async (words: readonly string[], input = ''): Promise<PromtoolAnswer> => {
  const { promise, resolve } = Promise.withResolvers<PromtoolAnswer>();
  const child = execFile(
    findPrometheus().promtool,
    words,
    { timeout: timeLimit(170_000), maxBuffer: 16_777_216 },
    (error, stdout, stderr) => {
      const status = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ status, output: `${stdout}${stderr}` });
    },
  );
  child.stdin?.end(input);
  return promise;
};

/** One series of an answer; `value` is the newest sample, NaN and infinities included. */
export type Sample = { readonly labels: Readonly<Record<string, string>>; readonly value: number };

const Answer = z.object({
  status: z.literal('success'),
  data: z.discriminatedUnion('resultType', [
    z.object({
      resultType: z.literal('vector'),
      result: z.array(z.object({ metric: z.record(z.string(), z.string()), value: z.tuple([z.number(), z.string()]) })),
    }),
    z.object({ resultType: z.enum(['scalar', 'string']), result: z.tuple([z.number(), z.string()]) }),
  ]),
});
const Refusal = z.object({ status: z.literal('error'), error: z.string() });

const toSamples = (body: unknown, expr: string): readonly Sample[] => {
  const refusal = Refusal.safeParse(body);
  if (refusal.success) throw new Error(`Prometheus refuses ${expr}: ${refusal.data.error}`);
  const { data } = Answer.parse(body);
  if (data.resultType !== 'vector') return [{ labels: {}, value: toNumber(data.result[1]) }];
  return data.result.map(({ metric, value }) => ({ labels: metric, value: toNumber(value[1]) }));
};

const toNumber = (text: string): number => Number(text.replace('Inf', 'Infinity'));

/** A real Prometheus of a test's own on loopback, which dies with the test's process. */
export type RunningPrometheus = {
  readonly url: string;
  readonly pid: number;
  /** An instant query, now or at `time` (Unix seconds). Rejects with Prometheus's words where it refuses it. */
  readonly query: (expr: string, time?: number) => Promise<readonly Sample[]>;
  /** Ends it and removes what it wrote. May be called twice. */
  readonly stop: () => Promise<void>;
};

export type PrometheusOptions = {
  /** `host:port` of what is scraped, as job `recourse`. */
  readonly targets: readonly string[];
  /** Absolute paths of rule files. */
  readonly ruleFiles?: readonly string[];
  /** Also how often rules are evaluated. 1 s unless told otherwise; Prometheus knows whole milliseconds. */
  readonly scrapeIntervalMs?: number;
  /** What templates of alerts know as `$externalLabels`. */
  readonly externalLabels?: Readonly<Record<string, string>>;
};

const toConfig = ({
  targets,
  ruleFiles = [],
  scrapeIntervalMs = 1000,
  externalLabels = {},
}: PrometheusOptions): string => {
  const interval = `${scrapeIntervalMs}ms`;
  return stringify({
    global: {
      ...{ scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
      external_labels: externalLabels,
    },
    rule_files: ruleFiles,
    scrape_configs: [{ job_name: 'recourse', static_configs: [{ targets }] }],
  });
};

/** Reads the server's log until it says that it is ready; rejects with that log where it ends before. */
const becomeReady = async (server: ChildProcess): Promise<void> => {
  const { stderr } = server;
  if (stderr === null) throw new Error('prometheus was started without a log.');
  const log: string[] = [];
  const lines = createInterface({ input: stderr });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(
    () => reject(new Error(`prometheus was not ready in ${START_TIMEOUT_MS} ms:\n${log.join('\n')}`)),
    START_TIMEOUT_MS,
  );
  lines.on('line', (line) => {
    // Read to the end, or a full pipe would stop the server; kept only while it may be needed.
    if (log.length < 100) log.push(line);
    if (line.includes('Server is ready to receive web requests')) resolve();
  });
  lines.once('close', () => reject(new Error(`prometheus ended:\n${log.join('\n')}`)));
  server.once('error', reject);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
  }
};

const end = async (server: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
  if (server.exitCode !== null || server.signalCode !== null || server.pid === undefined) return;
  const ended = once(server, 'exit');
  server.kill(signal);
  const timer = setTimeout(() => server.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
};

const launch = async (directory: string, port: number): Promise<ChildProcess> => {
  const words = [
    `--config.file=${directory}/prometheus.yml`,
    `--storage.tsdb.path=${directory}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=info',
  ];
  const server = spawn(findPrometheus().prometheus, words, { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] });
  watchOver(server);
  try {
    await becomeReady(server);
  } catch (error) {
    await end(server, 'SIGKILL');
    throw error;
  }
  return server;
};

const launchOnFreePort = async (directory: string) => {
  for (let attempt = 1; ; attempt += 1) {
    const port = await findFreePort();
    try {
      return { server: await launch(directory, port), port };
    } catch (error) {
      if (attempt === START_ATTEMPTS || !String(error).includes('address already in use')) throw error;
    }
  }
};

/** Starts a Prometheus on a free port and waits until it answers. Rejects with its log where it does not start. */
export const startPrometheus = async (options: PrometheusOptions): Promise<RunningPrometheus> => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-prometheus-'));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  writeFileSync(join(directory, 'prometheus.yml'), toConfig(options));
  const started = await launchOnFreePort(directory).catch((error: unknown) => {
    remove();
    throw error;
  });
  const { server, port } = started;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    pid: server.pid ?? 0,
    query: async (expr, time) => {
      const body = new URLSearchParams({ query: expr, ...(time === undefined ? {} : { time: String(time) }) });
      const answer = await fetch(`${url}/api/v1/query`, { method: 'POST', body });
      return toSamples(await answer.json(), expr);
    },
    stop: async () => {
      await end(server, 'SIGTERM');
      remove();
    },
  };
};
