import type { PacedPlan } from '../paced/paced-plan.ts';
import type { LaneLoad } from '../slices/slice-plan.ts';

// As many as there are connections: no two batches of one session are under way at once. Its batches differ four times.
const OF_SESSION = { sessions: 1024, requests: 4096 } as const;

// What fails is of no session: its budgets would refuse the fifth failure without looking at it.
const LOADS: readonly { readonly load: LaneLoad; readonly weight: number }[] = [
  { load: { calls: 1, ...OF_SESSION }, weight: 9 },
  { load: { calls: 4, ...OF_SESSION }, weight: 5 },
  { load: { calls: 32, ...OF_SESSION }, weight: 2 },
  { load: { calls: 1 }, weight: 1 },
  { load: { calls: 4, kind: 'failing' }, weight: 1 },
  { load: { calls: 1, kind: 'unknown' }, weight: 1 },
  { load: { calls: 4, kind: 'unknown_new' }, weight: 1 },
];

/** Of twenty batches sixteen are of a session, four of none; two are of names that no tool has, one has bad arguments. */
export const toMix = (url: string, pid: number): PacedPlan['loads'] =>
  LOADS.map(({ load, weight }) => ({ lane: { ...load, url, pid }, weight }));
