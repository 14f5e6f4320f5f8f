import type { AskProcess } from '../ask-process.ts';
import { checkAnswer } from '../check-answers.ts';
import type { Part } from '../isolation/part.ts';
import { Timing, type TimingRequest } from '../isolation/timing-plan.ts';
import { type MeasureLoad, type Run, type Warned, withoutWarnings } from '../measure-load.ts';
import { CONNECTIONS, WARM_UP_SECONDS } from '../measure-servers.ts';
import { checkCodes, readServiceCounts, type Span, toShareOf } from '../service-counts.ts';
import type { Contender, ContenderName } from './contenders.ts';

/** Why figures are only estimates. */
export type Doubt = 'too_busy' | 'keys_not_new';

export const SESSION_BATCHES = [1, 8, 64] as const;

/** What came of one contender with one batch size, in the order of the rounds. */
export type SessionSeries = {
  readonly name: ContenderName;
  readonly calls: number;
  /** At full load. */
  readonly runs: readonly Run[];
  /** One batch at a time. */
  readonly timings: readonly Timing[];
  readonly doubts: readonly Doubt[];
};

export type Generators = { readonly measure: MeasureLoad; readonly ask: AskProcess };

// Fifty batches of 64 would wait for each other longer than the service waits for Redis.
const CONNECTIONS_OF_LARGE = 8;
const toConnections = (calls: number): number => (calls < 64 ? CONNECTIONS : CONNECTIONS_OF_LARGE);

/** More contenders than elsewhere share the time: runs are shorter, and as many. */
const SHARE_OF_LOAD = 1 / 2;
const SHARE_OF_TIMING = 1 / 6;

/** Warms every contender up, then measures them in turn, round by round, for each batch size. Throws where a call fails. */
export const measureInTurn = async (
  contenders: readonly Contender[],
  { options, progress }: Part,
  generators: Generators,
): Promise<readonly SessionSeries[]> => {
  const all: SessionSeries[] = [];
  for (const calls of SESSION_BATCHES) {
    const lanes = contenders.map((contender) => ({ contender, ...toLane(contender, calls, generators) }));
    for (const { contender, load } of lanes) {
      progress(`${contender.name}, ${calls} a batch: warming up`);
      await checkAnswer(contender.server.url, contender.kind, calls);
      await load(WARM_UP_SECONDS);
    }
    for (let round = 1; round <= options.rounds; round += 1) {
      for (const { contender, load, time } of lanes) {
        const [run, timing] = [
          await load(options.seconds * SHARE_OF_LOAD),
          await time(options.seconds * SHARE_OF_TIMING),
        ];
        progress(`${contender.name}, ${calls} a batch, round ${round} of ${options.rounds}: ${show(run, timing)}`);
      }
    }
    all.push(...lanes.map(({ toSeries }) => toSeries(options.rounds)));
  }
  return all;
};

const toLane = (contender: Contender, calls: number, { measure, ask }: Generators) => {
  const { name, server, kind, manner, redis } = contender;
  const runs: Run[] = [];
  const timings: Timing[] = [];
  const doubts = new Set<Doubt>();
  const watched = async <T extends Warned>(run: () => Promise<T>): Promise<T> => {
    await redis?.empty();
    const before = await readServiceCounts(server.url, contender.tool);
    const result = await run();
    const after = await readServiceCounts(server.url, contender.tool);
    for (const doubt of findDoubts(contender, { before, after }, result)) doubts.add(doubt);
    return result;
  };
  return {
    load: async (seconds: number): Promise<Run> => {
      const run = await watched(() =>
        measure(server, { kind, manner, calls, connections: toConnections(calls), seconds }),
      );
      runs.push(run);
      return run;
    },
    time: async (seconds: number): Promise<Timing> => {
      const plan: TimingRequest = { url: server.url, kind, manner, calls, seconds };
      const timing = await watched(async () => Timing.parse(await ask(server, plan, seconds)));
      timings.push(timing);
      return timing;
    },
    // The first run was the warm-up.
    toSeries: (rounds: number): SessionSeries => ({
      name,
      calls,
      runs: runs.slice(-rounds),
      timings,
      doubts: [...doubts],
    }),
  };
};

const show = ({ batchesPerSecond, cpuMicrosPerBatch }: Run, { p50 }: Timing): string =>
  `${batchesPerSecond.toFixed(0)} batches/s, ${cpuMicrosPerBatch.toFixed(0)} µs each; alone ${p50.toFixed(3)} ms`;

// On a busy machine a round trip may take longer than the service waits: budgets are then kept elsewhere for a second,
// and keyed writes refused.
const NO_STORE = 'store_unavailable';
const MAX_SHARE_ELSEWHERE = 0.02;

/** Throws where calls came to anything unexpected; tells where the store was away for part of the time. */
const findDoubts = ({ name, manner }: Contender, span: Span, run: Warned): readonly Doubt[] => {
  checkCodes('ok', span, [NO_STORE]);
  // Only a store that was away gives a reason for one.
  if (name === 'embedded' || name === 'embedded_no_journal') withoutWarnings(run);
  const away = Math.max(toShareOf('codes', NO_STORE, span), toShareOf('modes', 'local', span));
  const doubts: readonly Doubt[] = away > MAX_SHARE_ELSEWHERE ? ['too_busy'] : [];
  const areNew = manner !== 'keyed' || toShareOf('keys', 'new', span) >= 1 - MAX_SHARE_ELSEWHERE;
  return areNew ? doubts : [...doubts, 'keys_not_new'];
};
