import { setTimeout as pause } from 'node:timers/promises';
import type { FigureRow, Figures } from '../figures.ts';
import { STARTS } from '../measure-starts.ts';
import type { Part } from '../part.ts';
import { readResidentMb } from '../process-usage.ts';
import { type Surroundings, startService } from '../servers.ts';
import { MAX_FIRST_ANSWER_MS, MAX_IDLE_MB } from '../targets.ts';

/** One start of the service on the embedded store. */
type Start = {
  /** From spawning the process to its first 200 on POST /tool-calls. */
  readonly firstAnswerMs: number;
  /** Memory after a second without requests. */
  readonly idleMb: number;
};

const QUIET_MS = 1000;

/** Starts the service again and again. The first start, which compiles everything, does not count. */
export const measureRest = async ({ surroundings, progress }: Part): Promise<Figures> => {
  const starts: Start[] = [];
  for (let count = 0; count <= STARTS; count += 1) {
    const start = await measureStart(surroundings);
    progress(`start ${count}: ${start.firstAnswerMs.toFixed(0)} ms, idle ${start.idleMb.toFixed(0)} MB`);
    if (count > 0) starts.push(start);
  }
  const answers = starts.map(({ firstAnswerMs }) => firstAnswerMs);
  const idle = starts.map(({ idleMb }) => idleMb);
  return {
    rows: [
      toRow('start to the first answer', 'ms', answers, MAX_FIRST_ANSWER_MS),
      toRow('memory after an idle second', 'mb', idle, MAX_IDLE_MB),
    ],
    lanes: [],
  };
};

const measureStart = async (surroundings: Surroundings): Promise<Start> => {
  const spawnedAt = performance.now();
  const { process: service } = await startService(surroundings);
  const firstAnswerMs = performance.now() - spawnedAt;
  await pause(QUIET_MS);
  const idleMb = readResidentMb(service.pid);
  await service.end();
  return { firstAnswerMs, idleMb };
};

const toRow = (what: string, as: FigureRow['as'], values: readonly number[], target: number): FigureRow => ({
  what,
  as,
  measured: values,
  comparedTo: '',
  reference: [],
  figures: values,
  target,
  doubts: [],
});
