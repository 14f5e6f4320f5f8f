import { ROTATING_SESSIONS } from '../bodies.ts';
import { fillServers } from '../measure-lanes.ts';
import type { Part } from '../part.ts';
import { type Server, startService } from '../servers.ts';
import { type FilledServer, type GrowthRow, measureFilled } from './growth-row.ts';

const COUNTS = [1, 100, 10_000] as const;

/** Sessions that are live beside the 256 of the load. */
export const measureLiveSessions = async (part: Part): Promise<GrowthRow> => {
  const filled = await startFilled(part);
  await fillServers(
    part,
    filled.map(({ count, server }) => ({
      server,
      load: { calls: 1, sessions: count, requests: count },
      answers: count,
    })),
  );
  return measureFilled(part, 'live sessions', filled, { sessions: ROTATING_SESSIONS });
};

const JOURNALED_SESSIONS = 32;
const FILLING_BATCH = 50;

/** Lines of the journal of each of 32 sessions, which are as many as SESSION_JOURNAL keeps. */
export const measureJournalLines = async (part: Part): Promise<GrowthRow> => {
  const filled: FilledServer[] = [];
  for (const count of COUNTS)
    filled.push({
      count,
      server: await startService(part.surroundings, {
        settings: { SESSION_JOURNAL: String(count) },
      }),
    });
  await fillServers(
    part,
    filled.map(({ count, server }) => ({
      server,
      load: { calls: FILLING_BATCH, sessions: JOURNALED_SESSIONS, sessionNames: 'shared' },
      answers: JOURNALED_SESSIONS * Math.ceil(count / FILLING_BATCH),
    })),
  );
  for (const { server } of filled) await refuseEvictions(server);
  const load = { sessions: JOURNALED_SESSIONS, sessionNames: 'shared' } as const;
  return measureFilled(part, 'lines of a journal', filled, load);
};

/** Throws where a store had no room for all that a comparison needs. */
const refuseEvictions = async ({ url }: Server): Promise<void> => {
  const text = await (await fetch(new URL('/metrics', url))).text();
  const evictions = text.match(/^recourse_store_evictions_total\{.*\} [1-9].*$/gm) ?? [];
  if (evictions.length > 0) throw new Error(`A store forgot what is to be measured: ${evictions.join(', ')}`);
};

/** Kept records of other keys, beside 256 keys whose batches come again and are answered from their records. */
export const measureKeyedRecords = async (part: Part): Promise<GrowthRow> => {
  const filled = await startFilled(part);
  await fillServers(
    part,
    filled.map(({ count, server }) => ({ server, load: { calls: 1, key: 'fresh', requests: 256 }, answers: count })),
  );
  return measureFilled(part, 'records kept under an Idempotency-Key', filled, { key: 'kept', requests: 256 }, 'always');
};

const startFilled = async ({ surroundings }: Part): Promise<readonly FilledServer[]> => {
  const filled: FilledServer[] = [];
  for (const count of COUNTS) filled.push({ count, server: await startService(surroundings) });
  return filled;
};
