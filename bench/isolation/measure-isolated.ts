import { startAsking } from '../ask-process.ts';
import { startLoad } from '../measure-load.ts';
import { type Latency, measureLatencies } from './measure-latencies.ts';
import { measureThroughput, type Throughput } from './measure-throughput.ts';
import type { Part } from './part.ts';
import { moveHosts, startToolService } from './tool-service.ts';

export type Isolated = { readonly latencies: readonly Latency[]; readonly throughputs: readonly Throughput[] };

const BATCHES = [1, 32, 64] as const;
const RECYCLED_BATCH = 32;
// More than are ever made: what the replacement of a host costs after its thousand calls is a row of its own.
const NEVER_RECYCLED = '1000000000';

/** Measures what a tool host adds to a call, and how many calls one core of the service gives to hosts. */
export const measureIsolated = async (part: Part): Promise<Isolated> => {
  const { surroundings } = part;
  const ask = startAsking('isolation/send-timed.ts', surroundings);
  const measure = startLoad(surroundings);
  const service = await startToolService(surroundings, { TOOL_HOST_MAX_CALLS: NEVER_RECYCLED });
  const together = await measureLatencies(part, service, ask, 'with_service');
  const mover = await moveHosts(surroundings, service);
  const apart = await measureLatencies(part, service, ask, 'with_load');
  const throughputs: Throughput[] = [];
  for (const calls of BATCHES)
    throughputs.push(await measureThroughput(part, service, measure, { hosts: 'kept', calls }));
  mover.stop();
  await service.process.end();

  const usual = await startToolService(surroundings, {});
  const usualMover = await moveHosts(surroundings, usual);
  throughputs.push(await measureThroughput(part, usual, measure, { hosts: 'recycled', calls: RECYCLED_BATCH }));
  usualMover.stop();
  await usual.process.end();
  return { latencies: [...together, ...apart], throughputs };
};
