import type { Options } from '../options.ts';
import type { Surroundings } from '../servers.ts';

/** What the measuring of one part of the bench is given. */
export type Part = {
  readonly options: Options;
  readonly surroundings: Surroundings;
  readonly progress: (line: string) => void;
};
