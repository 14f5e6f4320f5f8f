import { setTimeout as pause } from 'node:timers/promises';
import { type AskProcess, startAsking } from '../ask-process.ts';
import { SLEEP_MS, type SleepingKind } from '../bodies.ts';
import { checkAnswer } from '../check-answers.ts';
import { measureLanes, type Pace } from '../measure-lanes.ts';
import { type Memory, watchMemory } from '../memory-watch.ts';
import { offerLoad, type Stretch, showStretch } from '../paced/offer-load.ts';
import type { Part } from '../part.ts';
import type { Server } from '../servers.ts';
import { warmHostsUp } from './count-hosts.ts';
import { moveHosts, startToolService } from './tool-service.ts';

/** One stretch, at so many times the peak. */
export type OverloadStretch = Stretch & { readonly times: number };

export type Overload = {
  readonly sleepMs: number;
  /** Most successful calls in a second, found with a closed loop: what the hosts can do. */
  readonly peakPerSecond: number;
  readonly deadlineMs: number;
  readonly stretches: readonly OverloadStretch[];
  /** Successful calls in a second when it is over, in a closed loop again. */
  readonly afterPerSecond: number;
  readonly memory: Memory;
};

export const HOSTS = 16;
const DEADLINE_MS = 500;
const TIMES_OVER = [1, 10] as const;
// Enough for all calls that can wait and for what comes in a quarter of a second, and within the usual limit of files.
const CONNECTIONS = 4000;
// Twice the hosts: none is ever without work, and nothing waits for long.
const PEAK_CONNECTIONS = HOSTS * 2;
// Long, for a slice waits for its last calls while most hosts have nothing to do.
const PEAK_PACE = { rounds: 3, warmUpSeconds: 1, sliceMs: 2000 } as const;
const WARM_UP_PACE = { rounds: 1, warmUpSeconds: 1, sliceMs: 500 } as const;
const SECONDS = 3;
const SECONDS_OF_TENFOLD = 20;
// What was sent last has its whole deadline and then some.
const LAST_ANSWERS_MS = 3000;
const QUIET_MS = 2000;

/**
 * Finds the peak, offers it and then ten times as much on a clock of its own, and looks what becomes of the calls and
 * the memory. Calls of 10 ms are so many that ten times as many take the service's core as well; of 40 ms, only hosts.
 */
export const measureOverload = async (part: Part): Promise<readonly Overload[]> => {
  const ask = startAsking('paced/send-paced.ts', part.surroundings);
  const overloads: Overload[] = [];
  for (const kind of ['sleeping', 'sleeping_long'] as const) overloads.push(await measureKind({ part, ask, kind }));
  return overloads;
};

type Terms = {
  readonly part: Part;
  readonly ask: AskProcess;
  readonly kind: SleepingKind;
};

const measureKind = async (terms: Terms): Promise<Overload> => {
  const { part, kind } = terms;
  const { surroundings, progress } = part;
  const service = await startToolService(surroundings, { TOOL_HOSTS_MAX: String(HOSTS), MAX_EVENT_LOOP_LAG_MS: '250' });
  const mover = await moveHosts(surroundings, service);
  await checkAnswer(service.url, kind, 1);
  const measurePeak = async (pace: Pace = PEAK_PACE): Promise<number> => {
    const lane = { title: `peak, ${kind}`, server: service, load: { kind, calls: 1, connections: PEAK_CONNECTIONS } };
    const [figures] = await measureLanes(part, [lane], pace);
    if (figures === undefined) throw new Error('A lane was not measured.');
    return figures.batchesPerSecond;
  };
  await warmHostsUp(service, () => measurePeak(WARM_UP_PACE));
  const peakPerSecond = await measurePeak();
  const possible = (HOSTS * 1000) / SLEEP_MS[kind];
  progress(`overload, ${kind}: peak ${peakPerSecond.toFixed(0)} calls/s of ${possible} that ${HOSTS} hosts could do`);

  const watch = watchMemory(service);
  const stretches: OverloadStretch[] = [];
  try {
    for (const times of TIMES_OVER) stretches.push(await offer(terms, service, peakPerSecond, times));
  } finally {
    watch.stop();
  }
  await pause(QUIET_MS);
  const memory = watch.toMemory();
  const afterPerSecond = await measurePeak();
  mover.stop();
  await service.process.end();
  return { sleepMs: SLEEP_MS[kind], peakPerSecond, deadlineMs: DEADLINE_MS, stretches, afterPerSecond, memory };
};

const offer = async (
  { part, ask, kind }: Terms,
  service: Server,
  peakPerSecond: number,
  times: number,
): Promise<OverloadStretch> => {
  // Of no session: what is late must not be refused for that later.
  const lane = { url: service.url, pid: service.process.pid, kind, calls: 1, deadlineMs: DEADLINE_MS } as const;
  const stretch = await offerLoad(ask, service, {
    url: service.url,
    loads: [{ lane, weight: 1 }],
    ratePerSecond: peakPerSecond * times,
    seconds: times === 1 ? SECONDS : SECONDS_OF_TENFOLD,
    connections: CONNECTIONS,
    lastMs: DEADLINE_MS + LAST_ANSWERS_MS,
  });
  part.progress(`overload, ${kind}, ${times} times the peak: ${showStretch(stretch)}`);
  return { ...stretch, times };
};
