import { checkAnswer } from '../check-answers.ts';
import type { FigureRow, Figures } from '../figures.ts';
import { moveHosts, startToolService } from '../isolation/tool-service.ts';
import { type LaneFigures, measurePair } from '../measure-lanes.ts';
import type { Part } from '../part.ts';
import { endServers } from '../servers.ts';
import { MAX_ADDED_MS } from '../targets.ts';
import { toVerdict } from '../to-table.ts';

// A new process is no part of what is measured.
const NEVER_REPLACED = '1000000000';

/** What a tool host adds to one call that is alone: with the hosts on the core of the service, and on one of their own. */
export const measureIsolated = async (part: Part): Promise<Figures> => {
  const service = await startToolService(part.surroundings, { TOOL_HOST_MAX_CALLS: NEVER_REPLACED });
  const [rows, lanes]: [FigureRow[], LaneFigures[]] = [[], []];
  const measure = async (where: string): Promise<void> => {
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
    rows.push(toAddedRow(lane, comparedTo));
    lanes.push(comparedTo, lane);
  };
  await measure("the service's core");
  const mover = await moveHosts(part.surroundings, service);
  await measure('another core');
  mover.stop();
  await endServers([service]);
  return { rows, lanes };
};

const toAddedRow = (lane: LaneFigures, comparedTo: LaneFigures): FigureRow => {
  const [isolated, inside] = [lane.p50Ms ?? Number.NaN, comparedTo.p50Ms ?? Number.NaN];
  const added = isolated - inside;
  return {
    what: `${lane.title}, p50`,
    measured: `${isolated.toFixed(3)} ms`,
    comparedTo: 'inside the service',
    reference: `${inside.toFixed(3)} ms`,
    figure: `+ ${added.toFixed(3)} ms`,
    target: `≤ + ${MAX_ADDED_MS.toFixed(2)} ms`,
    verdict: toVerdict(added <= MAX_ADDED_MS),
  };
};
