import { type Lane, openLane } from './open-lane.ts';
import { type Slice, SlicePlan } from './slice-plan.ts';

let lanesSoFar = 0;

/** Warms all lanes up in turn, then drives them in turn; gives the slices of each lane. */
const sendSlices = async (message: unknown): Promise<readonly (readonly Slice[])[]> => {
  const { lanes: plans, warmUps, rounds, slice } = SlicePlan.parse(message);
  const lanes: Lane[] = [];
  for (const plan of plans) {
    lanesSoFar += 1;
    const lane = await openLane(plan, lanesSoFar);
    // A connection that says nothing for ten seconds is closed, and lanes wait for each other; one that was used is kept.
    if (plans.length > 1) await lane.drive({ answers: plan.connections });
    lanes.push(lane);
  }
  for (const warmUp of warmUps) for (const lane of lanes) await lane.drive(warmUp);
  const slices: Slice[][] = lanes.map(() => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [place, lane] of lanes.entries()) slices[place]?.push(await lane.drive(slice));
  for (const lane of lanes) lane.close();
  return slices;
};

process.on('message', (message) => {
  void sendSlices(message).then((slices) => process.send?.(slices));
});
// Ends with the bench, however that ends.
process.once('disconnect', () => process.exit(0));
