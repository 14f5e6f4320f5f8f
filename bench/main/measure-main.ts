import { type Figures, toSection } from '../figures.ts';
import { measureStarts } from '../measure-starts.ts';
import type { Part } from '../part.ts';
import { checkFloors, readFloors, writeFloors } from './floors.ts';
import { measureFailures } from './measure-failures.ts';
import { measureIsolated } from './measure-isolated.ts';
import { measurePeers } from './measure-peers.ts';
import { measureRest } from './measure-rest.ts';
import { measureEmbedded, measureRedis } from './measure-routes.ts';
import { measureUnknown } from './measure-unknown.ts';

type Step = (part: Part) => Promise<Figures>;

// Whoever compares, compares with peers first. They have no targets, and so no floors.
const peers: Step = (part) => measureStarts(part, measurePeers, 0.3);

// Less warm-up where one lane's code is the other's, or where the ratio is so large that it hardly matters.
const WITH_TARGETS: readonly Step[] = [
  (part) => measureStarts(part, measureEmbedded),
  (part) => measureStarts(part, measureRedis, 0.8),
  (part) => measureStarts(part, measureUnknown, 0.4),
  (part) => measureStarts(part, measureFailures, 0.3),
  (part) => measureStarts(part, measureIsolated, 0.2),
  measureRest,
];

/** What a batch costs, beside what could answer it instead; one step after the other. */
export const measureMain = async (part: Part): Promise<readonly string[]> => {
  const { floors } = part.options;
  const held = floors === 'check' ? readFloors() : null;
  const all: Figures[] = [];
  for (const step of held !== null ? WITH_TARGETS : [peers, ...WITH_TARGETS]) all.push(await step(part));
  const rows = all.flatMap((figures) => figures.rows);
  if (held !== null) checkFloors(rows, held, part.progress);
  if (floors === 'write') writeFloors(rows);
  return toSection('Main figures', { rows, lanes: all.flatMap(({ lanes }) => lanes) });
};
