import type { FailureCode } from '../../contract/failure.ts';

/** Why the service itself ended a host. */
export type KillReason =
  | 'timeout'
  | 'abort'
  | 'memory'
  | 'flood'
  | 'forgery'
  /** It has answered enough calls, or its state cannot be trusted any more. */
  | 'recycle'
  /** Nobody needs it: idle for long, of a version that is gone, in the way of another file. */
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
};

/** What the metrics call it. */
export type RestartReason = 'timeout' | 'oom' | 'crash' | 'exit' | 'recycle' | 'flood';

const OUT_OF_MEMORY = /heap out of memory|Allocation failed|OutOfMemory|out of memory/i;

const ranOutOfMemory = ({ killedFor, signal, exitCode, lastLines }: Death): boolean =>
  killedFor === 'memory' ||
  (killedFor === null && (signal !== null || exitCode !== 0) && lastLines.some((line) => OUT_OF_MEMORY.test(line)));

/** The failure code for the call that a host's death took with it. An exit with 0 is no success either. */
export const classifyDeath = (death: Death): Extract<FailureCode, 'tool_crashed' | 'out_of_memory'> =>
  ranOutOfMemory(death) ? 'out_of_memory' : 'tool_crashed';

/** Why a host must be replaced; null where it need not be. */
export const toRestartReason = (death: Death): RestartReason | null => {
  if (ranOutOfMemory(death)) return 'oom';
  switch (death.killedFor) {
    case 'timeout':
    case 'abort':
      return 'timeout';
    case 'flood':
    case 'forgery':
      return 'flood';
    case 'recycle':
      return 'recycle';
    case 'surplus':
    case 'shutdown':
      return null;
    default:
      return death.signal === null ? 'exit' : 'crash';
  }
};

/** The death as something thrown, for the log: how it ended and what it said last. */
export const toDeathError = (death: Death): Error => {
  const how = death.signal === null ? `exit code ${death.exitCode}` : `signal ${death.signal}`;
  const why = death.killedFor === null ? '' : `, ended by the service (${death.killedFor})`;
  const said = death.lastLines.length === 0 ? '' : ` Its last lines: ${death.lastLines.join(' | ')}`;
  const error = new Error(`The tool host ${death.pid} ended: ${how}${why}.${said}`);
  error.name = 'ToolHostEnded';
  return error;
};
