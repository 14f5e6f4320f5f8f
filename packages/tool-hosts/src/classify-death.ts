import type { FailureCode } from 'recourse-server/contract/failure';
import type { Death, Offence, RestartReason } from './isolation-observer.ts';

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
