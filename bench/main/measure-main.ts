import { type Figures, toSection } from '../figures.ts';
import type { Part } from '../part.ts';
import { measureFailures } from './measure-failures.ts';
import { measureIsolated } from './measure-isolated.ts';
import { measurePeers } from './measure-peers.ts';
import { measureRest } from './measure-rest.ts';
import { measureEmbedded, measureRedis } from './measure-routes.ts';

const STEPS = [measureRest, measureEmbedded, measureRedis, measureFailures, measureIsolated, measurePeers] as const;

/** What a batch costs, beside what could answer it instead; one step after the other. */
export const measureMain = async (part: Part): Promise<readonly string[]> => {
  const all: Figures[] = [];
  for (const step of STEPS) all.push(await step(part));
  return toSection('Main figures', { rows: all.flatMap(({ rows }) => rows), lanes: all.flatMap(({ lanes }) => lanes) });
};
