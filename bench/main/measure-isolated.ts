import { checkAnswer } from '../check-answers.ts';
import { type FigureRow, type Figures, toFigureRow } from '../figures.ts';
import { moveHosts, startToolService } from '../isolation/tool-service.ts';
import { type LaneFigures, measurePair } from '../measure-lanes.ts';
import type { Part } from '../part.ts';
import { endServers } from '../servers.ts';
import { MAX_ADDED_MS } from '../targets.ts';

// A new process is no part of what is measured.
const NEVER_REPLACED = '1000000000';

/** What a tool host adds to one call that is alone: with the hosts on the core of the service, and on one of their own. */
export const measureIsolated = async (part: Part): Promise<Figures> => {
  const service = await startToolService(part.surroundings, { TOOL_HOST_MAX_CALLS: NEVER_REPLACED });
  const [rows, lanes]: [FigureRow[], LaneFigures[]] = [[], []];
  const measure = async (where: string, target: number): Promise<void> => {
    await checkAnswer(service.url, 'isolated', 1);
    const { comparedTo, lane } = await measurePair(
      part,
      {
        title: `inside the service, hosts on ${where}`,
        server: service,
        load: { calls: 1, connections: 1, timed: true },
      },
      {
        title: `isolated, hosts on ${where}`,
        server: service,
        load: { kind: 'isolated', calls: 1, connections: 1, timed: true },
      },
    );
    rows.push(toFigureRow({ what: `${lane.title}, p50`, lane, comparedTo, as: 'added', target }));
    lanes.push(comparedTo, lane);
  };
  await measure("the service's core", MAX_ADDED_MS.sameCore);
  const mover = await moveHosts(part.surroundings, service);
  await measure('another core', MAX_ADDED_MS.otherCore);
  mover.stop();
  await endServers([service]);
  return { rows, lanes };
};
