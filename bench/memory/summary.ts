import type { Flood, Sample } from './flood-sessions.ts';

// And so long after the stores were full, which on a slow machine is later.
const FIRST_SECONDS = 60;
// Between two collections of garbage the heap grows; a leak of this flood grows it by far more within a minute.
const FLAT = 1.15;
const MOST_MS = 100;

const toMb = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;

export const describeSample = ({ second, sessions, rssBytes, heapBytes }: Sample): string =>
  `${String(second).padStart(4)} s  ${String(sessions).padStart(8)} sessions  rss ${toMb(rssBytes).padStart(8)}  heap ${toMb(heapBytes).padStart(8)}`;

/** The figures of a flood, a line each. */
export const toSummary = ({ samples, statuses, otherMs, otherFailures, waited, death, stores }: Flood): string => {
  const last = samples.at(-1);
  const { first, later } = toHighest(samples);
  return [
    death === null ? 'alive' : `dead: ${death}`,
    `sessions ${last?.sessions ?? 0} in ${last?.second ?? 0} s, statuses ${JSON.stringify(Object.fromEntries(statuses))}`,
    `highest while and just after the stores fill: rss ${toMb(first.rssBytes)}, heap ${toMb(first.heapBytes)}`,
    `highest after that: rss ${toMb(later.rssBytes)}, heap ${toMb(later.heapBytes)}`,
    `echo of the other tenant: ${otherMs.length} calls, ${otherFailures} not answered 200, p50 ${toMs(otherMs, 0.5)}, p99 ${toMs(otherMs, 0.99)}, longest ${toMs(otherMs, 1)}`,
    `waited for a processor: ${Math.round(waited * 100)} % of the time it could have run`,
    ...stores,
  ].join('\n');
};

/** What of a flood is not as it must be; empty where all is. */
export const judge = ({ samples, otherMs, otherFailures, death }: Flood): readonly string[] => {
  if (death !== null) return ['the service ended'];
  const { first, later } = toHighest(samples);
  return [
    ...(later.rssBytes > FLAT * first.rssBytes ? ['the resident set grew once the stores were full'] : []),
    ...(later.heapBytes > FLAT * first.heapBytes ? ['the heap grew once the stores were full'] : []),
    ...(at(otherMs, 0.99) >= MOST_MS ? [`p99 of the other tenant is not below ${MOST_MS} ms`] : []),
    ...(otherFailures > 0 ? [`${otherFailures} calls of the other tenant were not answered 200`] : []),
  ];
};

const toHighest = (samples: readonly Sample[]) => {
  const fullAt = samples.find(({ isFull }) => isFull)?.second ?? 0;
  const until = fullAt + FIRST_SECONDS;
  return {
    first: highestOf(samples.filter(({ second }) => second <= until)),
    later: highestOf(samples.filter(({ second }) => second > until)),
  };
};

const highestOf = (samples: readonly Sample[]) => ({
  rssBytes: Math.max(0, ...samples.map(({ rssBytes }) => rssBytes)),
  heapBytes: Math.max(0, ...samples.map(({ heapBytes }) => heapBytes)),
});

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;

const toMs = (sorted: readonly number[], share: number): string => `${at(sorted, share).toFixed(1)} ms`;
