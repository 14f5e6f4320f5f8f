import { checkAnswer } from '../check-answers.ts';
import { type Figures, toFigureRow } from '../figures.ts';
import { startWithTools } from '../growth/tools.ts';
import { measurePair } from '../measure-lanes.ts';
import type { Part } from '../part.ts';
import { endServers } from '../servers.ts';
import { MAX_UNKNOWN_TIMES } from '../targets.ts';

const TOOLS = 2000;

/** What a name costs that no tool has, another one each time, beside `echo`; both on a service with many tools. */
export const measureUnknown = async (part: Part): Promise<Figures> => {
  const server = await startWithTools(part, TOOLS);
  await checkAnswer(server.url, 'unknown_new', 1);
  const { comparedTo, lane } = await measurePair(
    part,
    { title: 'echo beside the same tools', server, load: { calls: 1, awake: true } },
    { title: `an unknown name beside ${TOOLS} tools`, server, load: { calls: 1, kind: 'unknown_new', awake: true } },
  );
  await endServers([server]);
  const row = toFigureRow({ what: lane.title, lane, comparedTo, as: 'times', target: MAX_UNKNOWN_TIMES });
  return { rows: [row], lanes: [comparedTo, lane] };
};
