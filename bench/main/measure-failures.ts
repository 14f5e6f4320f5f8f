import { checkAnswer } from '../check-answers.ts';
import { type Comparison, type FigureRow, type Figures, toFigureRow } from '../figures.ts';
import { type LaneFigures, measurePair } from '../measure-lanes.ts';
import type { Part } from '../part.ts';
import { endServers, startService } from '../servers.ts';
import type { LaneLoad } from '../slices/slice-plan.ts';
import { MAX_THROWING_TIMES, MIN_FAILING_SHARE } from '../targets.ts';

type Failure = Pick<Comparison, 'what' | 'as' | 'target'> & {
  readonly comparedTo: string;
  readonly failing: LaneLoad;
  readonly succeeding: LaneLoad;
};

// Of no session: its budgets would refuse the fifth failure without looking at it.
const FAILURES: readonly Failure[] = [
  ...([1, 32] as const).map(
    (calls): Failure => ({
      what: `invalid arguments, ${calls === 1 ? '1 call' : `${calls} calls`}`,
      comparedTo: 'the same that succeed',
      failing: { kind: 'failing', calls, awake: true },
      succeeding: { calls, awake: true },
      as: 'share',
      target: MIN_FAILING_SHARE,
    }),
  ),
  {
    what: 'read_file of a missing file, 1 call',
    comparedTo: 'read_file of one that exists',
    failing: { kind: 'missing', calls: 1, awake: true },
    succeeding: { kind: 'reading', calls: 1, awake: true },
    as: 'times',
    target: MAX_THROWING_TIMES,
  },
];

/** What a call that fails costs, beside one that succeeds; on one service. */
export const measureFailures = async (part: Part): Promise<Figures> => {
  const service = await startService(part.surroundings);
  const [rows, lanes]: [FigureRow[], LaneFigures[]] = [[], []];
  for (const { what, comparedTo: title, failing, succeeding, as, target } of FAILURES) {
    await checkAnswer(service.url, failing.kind ?? 'succeeding', failing.calls);
    const { comparedTo, lane } = await measurePair(
      part,
      { title, server: service, load: succeeding },
      { title: what, server: service, load: failing },
    );
    rows.push(toFigureRow({ what, lane, comparedTo, as, target }));
    lanes.push(comparedTo, lane);
  }
  await endServers([service]);
  return { rows, lanes };
};
