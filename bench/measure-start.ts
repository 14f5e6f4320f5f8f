import { setTimeout as pause } from 'node:timers/promises';
import { readResidentMb } from './process-usage.ts';
import { type Surroundings, startService } from './servers.ts';

/** One start of the service on the embedded store. */
export type Start = {
  /** From spawning the process to its first 200 on POST /tool-calls, in milliseconds. */
  readonly firstAnswerMs: number;
  /** Memory right after that answer and after a second without requests, in MB. */
  readonly residentMb: number;
  readonly idleMb: number;
};

/** The first start compiles everything; the later ones find that on disk, as every start after the first does. */
export type Starts = { readonly first: Start; readonly later: readonly Start[] };

const QUIET_MS = 1000;

export const measureStart = async (surroundings: Surroundings): Promise<Start> => {
  const spawnedAt = performance.now();
  const { process: service } = await startService(surroundings, null);
  const firstAnswerMs = performance.now() - spawnedAt;
  const residentMb = readResidentMb(service.pid);
  await pause(QUIET_MS);
  const idleMb = readResidentMb(service.pid);
  await service.end();
  return { firstAnswerMs, residentMb, idleMb };
};
