import type { AskProcess } from './ask-process.ts';
import type { Options } from './options.ts';
import type { Surroundings } from './servers.ts';

/** What the measuring of one part of the bench is given. */
export type Part = {
  readonly options: Options;
  readonly surroundings: Surroundings;
  /** The load generator: one process for all parts, so that it is warm. */
  readonly sendSlices: AskProcess;
  readonly progress: (line: string) => void;
};
