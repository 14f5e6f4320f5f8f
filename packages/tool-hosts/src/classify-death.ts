import type { FailureCode } from 'recourse-server/contract/failure';
import type { HostedTool } from 'recourse-server/tools/tool';

/** Why the service itself ended a host. */
export type KillReason =
  | 'timeout'
  | 'abort'
  | 'memory'
  /** Between calls it holds nearly as much memory as it may: its tools keep what they should give back. */
  | 'growth'
  | 'flood'
  | 'forgery'
  /** It has answered enough calls, or its state cannot be trusted any more. */
  | 'recycle'
  /** It is not needed: idle for long, of a version that is gone, in the way of another file. */
  | 'surplus'
  | 'shutdown';

/** How a host ended. */
export type Death = {
  readonly pid: number;
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** null where it ended by itself. */
  readonly killedFor: KillReason | null;
  /** The last lines it wrote to stderr. */
  readonly lastLines: readonly string[];
  /** The tool whose code ended the process, where that said so. */
  readonly leaver: HostedTool | null;
};

/** What the metrics call it. */
export type RestartReason = 'timeout' | 'oom' | 'crash' | 'exit' | 'recycle' | 'growth' | 'flood';

/** What a file cost its place among others. */
export type Offence =
  /** A call ended its process, or filled its memory. */
  | 'crash'
  | 'memory'
  /** A call went on after its deadline until it was killed. */
  | 'timeout'
  /** It changed what all files share. */
  | 'taint'
  /** Something of it went on long after its calls: timers, sockets, processes. */
  | 'unrest';

const OUT_OF_MEMORY = /heap out of memory|Allocation failed|OutOfMemory|out of memory/i;

const ranOutOfMemory = ({ killedFor, signal, exitCode, lastLines }: Death): boolean =>
  killedFor === 'memory' ||
  (killedFor === null && (signal !== null || exitCode !== 0) && lastLines.some((line) => OUT_OF_MEMORY.test(line)));

/** The failure code for the call that a host's death took with it. An exit with 0 is no success either. */
export const classifyDeath = (death: Death): Extract<FailureCode, 'tool_crashed' | 'out_of_memory'> =>
  ranOutOfMemory(death) ? 'out_of_memory' : 'tool_crashed';

/** Why a host must be replaced; null where it need not be. */
export const findRestartReason = (death: Death): RestartReason | null => {
  if (ranOutOfMemory(death)) return 'oom';
  switch (death.killedFor) {
    case 'timeout':
    case 'abort':
      return 'timeout';
    case 'flood':
    case 'forgery':
      return 'flood';
    case 'recycle':
    case 'growth':
      return death.killedFor;
    case 'surplus':
    case 'shutdown':
      return null;
    default:
      return death.signal === null ? 'exit' : 'crash';
  }
};

const OWN_FAULTS: readonly (RestartReason | null)[] = ['crash', 'exit', 'oom', 'flood'];

/** Whether the host's own code is to blame, so that the next one may fare no better. */
export const isOwnFault = (restart: RestartReason | null): boolean => OWN_FAULTS.includes(restart);

/** What the file whose call ended a host is charged with; null where that is the daily life of a pool. */
export const decideOffence = (restart: RestartReason | null): Offence | null => {
  if (restart === 'oom') return 'memory';
  return restart === 'crash' || restart === 'exit' || restart === 'flood' ? 'crash' : null;
};

const MAX_SAID = 800;

/** The death as something thrown, for the log: how it ended and what it said last. */
export const createDeathError = (death: Death): Error => {
  const how = death.signal === null ? `exit code ${death.exitCode}` : `signal ${death.signal}`;
  const why = death.killedFor === null ? '' : `, ended by the service (${death.killedFor})`;
  const last = toLastLines(death.lastLines);
  const said = last === '' ? '' : ` Its last output: ${last}`;
  const error = new Error(`The tool host ${death.pid} ended: ${how}${why}.${said}`);
  error.name = 'ToolHostEnded';
  return error;
};

/** As many whole lines as fit: the log keeps the beginning of a text, and of what was said it is the end that matters. */
const toLastLines = (lines: readonly string[]): string => {
  let said = '';
  for (const line of lines.toReversed()) {
    if (said.length + line.length > MAX_SAID) return `… | ${said}`;
    said = said === '' ? line : `${line} | ${said}`;
  }
  return said;
};
