import { setTimeout as pause } from 'node:timers/promises';
import { toBodies } from '../bodies.ts';
import { type HttpAnswer, type HttpConnection, openConnection, toPost } from './http-connection.ts';
import { PacedPlan, type PacedResult } from './paced-plan.ts';
import { percentileOf } from './percentile.ts';

// More than the service lets wait, and few enough for the usual limit of open files on both sides.
const MAX_CONNECTIONS = 4000;
// Connections are opened before the clock starts: a storm of them would be another experiment.
const FIRST_CONNECTIONS = 500;
const TICK_MS = 1;
// What was sent last has its whole deadline and then some.
const LAST_ANSWERS_MS = 3000;

type Line = { connection: HttpConnection; sentAt: number; isWaiting: boolean };

/** What has been seen so far. */
const createTally = (endsAt: () => number) => {
  const others = new Map<string, number>();
  const times: number[] = [];
  const counts = { successesInTime: 0, refused: 0, overloaded: 0 };
  const other = (what: string): void => void others.set(what, (others.get(what) ?? 0) + 1);
  const answer = ({ status, body }: HttpAnswer, tookMs: number): void => {
    if (status === 503) counts.refused += 1;
    else if (status !== 200) other(`HTTP ${status}`);
    else if (body.includes('"success":true')) {
      times.push(tookMs);
      if (performance.now() <= endsAt()) counts.successesInTime += 1;
    } else if (body.includes('"code":"overloaded"')) counts.overloaded += 1;
    else other(/"code":"(\w+)"/.exec(body)?.[1] ?? 'no code');
  };
  return { others, times, counts, other, answer };
};

/** Sends on its own clock, whatever the answers do, and says how well it kept it. */
const sendPaced = async ({ url, ratePerSecond, seconds, deadlineMs }: PacedPlan): Promise<PacedResult> => {
  const requests = toBodies('sleeping', 1, deadlineMs).map((body) => toPost(url, body));
  const lines = new Set<Line>();
  const free: Line[] = [];
  const lateness: number[] = [];
  let endsAt = Number.POSITIVE_INFINITY;
  const tally = createTally(() => endsAt);

  const open = (): Line => {
    const connection = openConnection(url, {
      onAnswer: (answer) => {
        tally.answer(answer, performance.now() - line.sentAt);
        line.isWaiting = false;
        free.push(line);
      },
      onBroken: (reason) => {
        if (line.isWaiting) tally.other(reason);
        lines.delete(line);
        if (!line.isWaiting) free.splice(free.indexOf(line), 1);
      },
    });
    const line: Line = { connection, sentAt: 0, isWaiting: false };
    lines.add(line);
    return line;
  };
  const obtain = (): Line | null => free.pop() ?? (lines.size < MAX_CONNECTIONS ? open() : null);

  for (let count = 0; count < FIRST_CONNECTIONS; count += 1) free.push(open());
  await pause(200);
  const startedAt = performance.now();
  endsAt = startedAt + seconds * 1000;
  let sent = 0;
  let due = 0;
  while (performance.now() < endsAt) {
    due = Math.floor(((performance.now() - startedAt) * ratePerSecond) / 1000);
    for (; sent < due; sent += 1) {
      const line = obtain();
      if (line === null) break;
      line.isWaiting = true;
      line.sentAt = performance.now();
      lateness.push(line.sentAt - startedAt - (sent * 1000) / ratePerSecond);
      line.connection.send(requests[sent % requests.length] ?? '');
    }
    await pause(TICK_MS);
  }
  await waitForLast(lines, deadlineMs);
  for (const line of lines) {
    if (line.isWaiting) tally.other('no answer');
    line.connection.close();
  }
  const times = Float64Array.from(tally.times).sort();
  const late = Float64Array.from(lateness).sort();
  return {
    ...tally.counts,
    sent,
    unsent: due - sent,
    successes: times.length,
    others: Object.fromEntries(tally.others),
    successP50: percentileOf(times, 0.5),
    successP99: percentileOf(times, 0.99),
    latenessP50: percentileOf(late, 0.5),
    latenessP99: percentileOf(late, 0.99),
    connections: lines.size,
  };
};

const waitForLast = async (lines: ReadonlySet<Line>, deadlineMs: number): Promise<void> => {
  const until = performance.now() + deadlineMs + LAST_ANSWERS_MS;
  while (performance.now() < until && [...lines].some(({ isWaiting }) => isWaiting)) await pause(20);
};

process.on('message', (message) => {
  void sendPaced(PacedPlan.parse(message)).then((result) => process.send?.(result));
});
// Ends with the bench, however that ends.
process.once('disconnect', () => process.exit(0));
