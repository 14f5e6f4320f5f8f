import { setTimeout as pause } from 'node:timers/promises';
import type { FigureRow, Figures } from '../figures.ts';
import type { Part } from '../part.ts';
import { readResidentMb } from '../process-usage.ts';
import { type Surroundings, startService } from '../servers.ts';
import { summarise } from '../summarise.ts';
import { MAX_FIRST_ANSWER_MS, MAX_IDLE_MB } from '../targets.ts';
import { toVerdict } from '../to-table.ts';

/** One start of the service on the embedded store. */
type Start = {
  /** From spawning the process to its first 200 on POST /tool-calls. */
  readonly firstAnswerMs: number;
  /** Memory after a second without requests. */
  readonly idleMb: number;
};

const STARTS = 5;
const QUIET_MS = 1000;

/** Starts the service again and again. The first start, which compiles everything, does not count. */
export const measureRest = async ({ surroundings, progress }: Part): Promise<Figures> => {
  const starts: Start[] = [];
  for (let count = 0; count <= STARTS; count += 1) {
    const start = await measureStart(surroundings);
    progress(`start ${count}: ${start.firstAnswerMs.toFixed(0)} ms, idle ${start.idleMb.toFixed(0)} MB`);
    if (count > 0) starts.push(start);
  }
  const answer = summarise(starts.map(({ firstAnswerMs }) => firstAnswerMs)).median;
  const idle = summarise(starts.map(({ idleMb }) => idleMb)).median;
  return {
    rows: [
      toRow('start to the first answer', answer, MAX_FIRST_ANSWER_MS, 'ms'),
      toRow('memory after an idle second', idle, MAX_IDLE_MB, 'MB'),
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

const toRow = (what: string, value: number, most: number, unit: string): FigureRow => ({
  what,
  measured: `${value.toFixed(0)} ${unit}`,
  comparedTo: '',
  reference: '',
  figure: '',
  target: `≤ ${most} ${unit}`,
  verdict: toVerdict(value <= most),
});
