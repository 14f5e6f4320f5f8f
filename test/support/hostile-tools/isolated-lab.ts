import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expectResults, post } from '@recourse/test-support/check-answer.ts';
import { type LogLine, type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { whenLoaded } from '@recourse/test-support/when-loaded.ts';
import { expect } from 'vitest';
import type { ToolResult } from '#src/contract/tool-result.ts';

export type HostileFile =
  | 'answers'
  | 'channel'
  | 'context'
  | 'endless'
  | 'environment'
  | 'exits'
  | 'floods'
  | 'good'
  | 'grandchildren'
  | 'late'
  | 'memory'
  | 'misbehaving'
  | 'mutators'
  | 'permissions';

export type IsolatedLab = RunningService & {
  /** Stops the service and checks that its last-resort net was never used and that none of its hosts lives on. */
  readonly stopClean: () => Promise<void>;
};

// These tests are not about load: a busy machine must not have their batches refused.
const CALM = { MAX_EVENT_LOOP_LAG_MS: '60000', TOOL_HOSTS_MAX: '8' };

/** A service whose tools directory offers the tools of these files of this folder, each from a process of its own. */
export const startIsolated = async (
  files: readonly HostileFile[],
  environment: Readonly<Record<string, string>> = {},
): Promise<IsolatedLab> => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'recourse-hostile-')));
  for (const file of new Set<HostileFile>(['good', ...files]))
    writeFileSync(
      join(root, `${file}.ts`),
      `export * from ${JSON.stringify(join(import.meta.dirname, `${file}.ts`))};`,
    );
  const service = await startService({ TOOLS_DIR: root, ...CALM, ...environment });
  await whenLoaded(service.logLines);
  return {
    ...service,
    stopClean: async () => {
      const violations = await service.metric('recourse_contract_violations_total');
      const left = await stopAndFindHosts(service);
      rmSync(root, { recursive: true, force: true });
      expect({ violations, left }).toEqual({ violations: 0, left: [] });
    },
  };
};

const stopAndFindHosts = async (service: RunningService): Promise<readonly number[]> => {
  const before = findHosts();
  await service.stop();
  return before.filter((pid) => isHost(pid));
};

/** Process ids of the tool hosts that this process has started. */
export const findHosts = (): readonly number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid > 0 && isHost(pid));

const isHost = (pid: number): boolean =>
  isRunning(pid) && /\/inside\/host-main\.m?[jt]s\0/.test(readProc(pid, 'cmdline')) && parentOf(pid) === process.pid;

/** Process ids of whatever has this text in its command line. */
export const findByArgument = (text: string): readonly number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid > 0 && pid !== process.pid)
    .filter((pid) => isRunning(pid) && readProc(pid, 'cmdline').includes(text));

/** Whether there is such a process that is not a zombie. */
export const isRunning = (pid: number): boolean => !['', 'Z', 'X'].includes(statOf(pid)[0] ?? '');

const parentOf = (pid: number): number => Number(statOf(pid)[1]);

// What follows the command's name, which may hold anything: state, parent, …
const statOf = (pid: number): readonly string[] =>
  readProc(pid, 'stat')
    .replace(/^.*\) /s, '')
    .split(' ');

const readProc = (pid: number, file: 'stat' | 'cmdline' | 'status'): string => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch (_gone) {
    return '';
  }
};

/** Resident memory of this process, in MiB. */
export const residentMb = (): number => process.memoryUsage.rss() / 1_048_576;

export type HostileCall = {
  readonly name: string;
  readonly arguments?: unknown;
  readonly timeout_ms?: number;
};

const BATCH = 64;

/** Sends hostile calls in one batch that good calls fill up to 64: checks that each of these succeeds as if alone. */
export const answerInFullBatch = async (
  service: { readonly url: string },
  hostile: readonly HostileCall[],
): Promise<readonly ToolResult[]> => {
  const stride = Math.floor(BATCH / (hostile.length + 1));
  const places = hostile.map((_, order) => (order + 1) * stride);
  const calls = Array.from({ length: BATCH }, (_, place) => hostile[places.indexOf(place)] ?? toGood(place));
  const results = expectResults(await post(service.url, JSON.stringify({ calls })), BATCH);
  for (const { index, name, outcome, executed, value, message } of results)
    if (!places.includes(index))
      expect({ index, name, outcome, executed, value, message }).toEqual({
        index,
        name: toGood(index).name,
        outcome: 'success',
        executed: 'yes',
        value: index % 2 === 0 ? { text: `good ${index}` } : { place: index },
        message: '',
      });
  return results.filter(({ index }) => places.includes(index));
};

const toGood = (place: number) =>
  place % 2 === 0
    ? { name: 'echo', arguments: { text: `good ${place}` } }
    : { name: 'isolated_good', arguments: { place } };

/** The result of a call that is alone in its batch. */
export const answerAlone = async (service: { readonly url: string }, call: HostileCall): Promise<ToolResult> => {
  const [result] = expectResults(await post(service.url, JSON.stringify({ calls: [call] })), 1);
  if (result === undefined) throw new Error('There is no result.');
  return result;
};

/** The results of a call that is alone, and of the same call among 63 good ones. */
export const answerBoth = async (
  service: { readonly url: string },
  call: HostileCall,
): Promise<readonly ToolResult[]> => [await answerAlone(service, call), ...(await answerInFullBatch(service, [call]))];

/** What of a result says how the call ended. */
export const toVerdict = ({ outcome, executed, value, message, error }: ToolResult) => ({
  code: error?.code ?? null,
  outcome,
  executed,
  value,
  message,
});

/** The log line under the reference of a failed call. */
export const lineOf = (service: RunningService, { error }: ToolResult): LogLine | undefined =>
  service.logLines().find(({ reference }) => reference !== undefined && reference === error?.reference);

/** How many hosts were replaced for this reason, whatever file they ran. */
export const restartsFor = async (service: RunningService, reason: string): Promise<number> => {
  const text = await (await fetch(`${service.opsUrl}/metrics`)).text();
  const start = `recourse_tool_process_restarts_total{reason="${reason}",`;
  const series = text.split('\n').filter((line) => line.startsWith(start));
  expect(series).not.toEqual([]);
  return series.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
};

export const droppedAs = async (service: RunningService, reason: string): Promise<number> =>
  (await service.metric(`recourse_tool_messages_dropped_total{reason="${reason}"}`)) ?? Number.NaN;

/** Waits for what must become true soon, on a machine that may be busy with something else. */
export const becomes = (look: () => unknown, expected: unknown): Promise<void> =>
  expect.poll(look, { timeout: timeLimit(15_000), interval: 20 }).toEqual(expected);
