import { checkAnswer, checkLikeness } from './check-answers.ts';
import { type MeasureLoad, type Run, withoutWarnings } from './measure-load.ts';
import type { COMPARED_TO, Options } from './options.ts';
import type { Server } from './servers.ts';
import { checkCodes, readServiceCounts, type ServiceCounts, toShareIn } from './service-counts.ts';
import { BATCH_SIZES, type BatchSize } from './targets.ts';

export type Contender = 'bare' | keyof typeof COMPARED_TO;

export type Contenders = ReadonlyMap<Contender, Server>;

/** All runs of one server with one batch size, in the order of the rounds. */
export type Series = {
  readonly contender: Contender;
  readonly calls: BatchSize;
  readonly runs: readonly Run[];
  readonly warning: string | null;
};

// So many that a server finds work whenever it has its core, even where other processes want the cores, too.
export const CONNECTIONS = 50;
export const WARM_UP_SECONDS = 3;

const PLANS = {
  bare: { kind: 'succeeding', counts: null },
  embedded: { kind: 'succeeding', counts: { code: 'ok', mode: 'memory' } },
  redis: { kind: 'succeeding', counts: { code: 'ok', mode: 'redis' } },
  failing: { kind: 'failing', counts: { code: 'invalid_arguments', mode: 'memory' } },
} as const satisfies Record<Contender, unknown>;

/** Warms every server up, then measures them in turn, round by round, for each batch size. Throws where one fails. */
export const measureServers = async (
  contenders: Contenders,
  measure: MeasureLoad,
  { seconds, rounds }: Options,
  progress: (line: string) => void,
): Promise<readonly Series[]> => {
  const all: Series[] = [];
  for (const calls of BATCH_SIZES) {
    await checkContenders(contenders, calls);
    for (const [contender, server] of contenders) {
      progress(`${contender}, ${calls} a batch: warming up`);
      await measure(server, { ...toLoad(contender, calls), seconds: WARM_UP_SECONDS });
    }
    const before = await readAllCounts(contenders);
    const series = new Map([...contenders.keys()].map((contender) => [contender, [] as Run[]]));
    for (let round = 1; round <= rounds; round += 1) {
      for (const [contender, server] of contenders) {
        const run = await measure(server, { ...toLoad(contender, calls), seconds });
        series.get(contender)?.push(acceptRun(contender, run));
        progress(`${contender}, ${calls} a batch, round ${round} of ${rounds}: ${showRun(run)}`);
      }
    }
    const after = await readAllCounts(contenders);
    for (const [contender, runs] of series)
      all.push({ contender, calls, runs, warning: checkCounts(contender, calls, before, after) });
  }
  return all;
};

// A count that Redis never got, because the machine was too busy, may make the loop guard warn there: see checkCounts.
const acceptRun = (contender: Contender, run: Run): Run => (contender === 'redis' ? run : withoutWarnings(run));

const toLoad = (contender: Contender, calls: BatchSize) =>
  ({ kind: PLANS[contender].kind, calls, connections: CONNECTIONS }) as const;

const showRun = ({ batchesPerSecond, cpuMicrosPerBatch, busy }: Run): string =>
  `${batchesPerSecond.toFixed(0)} batches/s, ${cpuMicrosPerBatch.toFixed(0)} µs each, busy ${(busy * 100).toFixed(0)} %`;

const checkContenders = async (contenders: Contenders, calls: BatchSize): Promise<void> => {
  for (const [contender, { url }] of contenders) await checkAnswer(url, PLANS[contender].kind, calls);
  const [bare, embedded] = [contenders.get('bare'), contenders.get('embedded')];
  if (bare === undefined || embedded === undefined) return;
  checkLikeness(await checkAnswer(bare.url, 'succeeding', calls), await checkAnswer(embedded.url, 'succeeding', calls));
};

type AllCounts = ReadonlyMap<Contender, ServiceCounts>;

const readAllCounts = async (contenders: Contenders): Promise<AllCounts> => {
  const counts = new Map<Contender, ServiceCounts>();
  for (const [contender, { url }] of contenders) {
    if (PLANS[contender].counts !== null) counts.set(contender, await readServiceCounts(url));
  }
  return counts;
};

// On a busy machine a round trip may take longer than the service waits; then it decides by itself for a second.
const MAX_SHARE_ELSEWHERE = 0.02;

/** Throws where calls came to anything unexpected; warns where budgets were kept elsewhere than they should. */
const checkCounts = (contender: Contender, calls: BatchSize, before: AllCounts, after: AllCounts): string | null => {
  const expected = PLANS[contender].counts;
  const [earlier, later] = [before.get(contender), after.get(contender)];
  if (expected === null || earlier === undefined || later === undefined) return null;
  const span = { before: earlier, after: later };
  checkCodes(expected.code, span);
  const share = toShareIn(expected.mode, span);
  if (share >= 1 - MAX_SHARE_ELSEWHERE) return null;
  const elsewhere = ((1 - share) * 100).toFixed(1);
  return `${elsewhere} % of the rounds of ${contender} with ${calls} a batch were not decided in ${expected.mode}, most likely because the machine was too busy for its time-outs: these figures are only an estimate.`;
};
