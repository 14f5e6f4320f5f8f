import { once } from 'node:events';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import * as z from 'zod';
import { type AttackName, FLOOD_FORMATS, type Flood, type FloodTarget, isAttack, runFlood } from './flood-attacks.ts';

const Flooding = z.object({
  target: z.object({ port: z.int(), pendingRequest: z.string() }),
  floods: z.array(
    z.object({
      attack: z.string().refine((name): name is AttackName => isAttack(name)),
      format: z.enum(FLOOD_FORMATS),
      bytes: z.int(),
      toolMs: z.int(),
      lanes: z.int(),
    }),
  ),
});

const Counts = z.record(z.string(), z.int());

/** How many requests came to what, by `attack: outcome`. */
export type FloodCounts = z.infer<typeof Counts>;

const flood = async (): Promise<FloodCounts> => {
  const { target, floods } = Flooding.parse(workerData);
  const over = new AbortController();
  parentPort?.once('message', () => over.abort());
  const counts: Record<string, number> = {};
  const count = (outcome: string): void => {
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  };
  await Promise.all(floods.map((one) => runFlood(one, target, over.signal, count)));
  return counts;
};

/** Floods a service from a thread of its own, so that this process can time another tenant; until `stop`. */
export const startFlood = (target: FloodTarget, floods: readonly Flood[]) => {
  const thread = new Worker(new URL(import.meta.url), { workerData: { target, floods } });
  const counted = once(thread, 'message');
  // A thread that fails is told by `stop`.
  counted.catch(() => undefined);
  return {
    stop: async (): Promise<FloodCounts> => {
      thread.postMessage('stop');
      const [counts] = await counted.finally(() => thread.terminate());
      return Counts.parse(counts);
    },
  };
};

if (parentPort !== null && Flooding.safeParse(workerData).success) parentPort.postMessage(await flood());
