import { randomUUID } from 'node:crypto';
import { toBodies, toHeaders } from '../bodies.ts';
import { openConnection, toPost } from './http-connection.ts';
import { percentileOf } from './percentile.ts';
import { type Timing, TimingPlan } from './timing-plan.ts';

const SHOWN = 500;
// Goes on from run to run, so that short runs come to all sessions in the end.
let position = 0;

/** Sends one batch after the other and notes how long each took. Rejects where one fails. */
const sendTimed = (plan: TimingPlan, run: number): Promise<Timing> =>
  new Promise((resolve, reject) => {
    const { url, manner, seconds } = plan;
    const bodies = toBodies({ ...plan, run, connection: 0, connections: 1 });
    const times: number[] = [];
    const end = performance.now() + seconds * 1000;
    let [sentAt, warned, warning] = [0, 0, ''];
    const sendNext = (): void => {
      const request = toPost(url, bodies[position % bodies.length] ?? '', toHeaders(manner, randomUUID()));
      position += 1;
      sentAt = performance.now();
      connection.send(request);
    };
    const finish = (): void => {
      connection.close();
      const sorted = Float64Array.from(times).sort();
      const [p50, p99] = [percentileOf(sorted, 0.5), percentileOf(sorted, 0.99)];
      resolve({ answers: sorted.length, p50, p99, warned, warning });
    };
    const connection = openConnection(url, {
      onAnswer: ({ status, body }) => {
        const now = performance.now();
        times.push(now - sentAt);
        if (isRemarkable(status, body)) {
          warned += 1;
          warning ||= body.slice(-SHOWN);
        }
        if (now < end) sendNext();
        else finish();
      },
      onBroken: (reason) => reject(new Error(reason)),
    });
    sendNext();
  });

const REMARKABLE = ['"code":"store_unavailable"', '"warnings":'];

// Whoever asked for the run judges that. Throws where a call failed for any other reason.
const isRemarkable = (status: number, body: string): boolean => {
  const found = REMARKABLE.some((text) => body.includes(text));
  if (status === 200 && (found || !body.includes('"success":false'))) return found;
  throw new Error(`A call of a batch failed (${status}): ${body.slice(0, SHOWN)}`);
};

let runs = 0;
process.on('message', (message) => {
  runs += 1;
  void sendTimed(TimingPlan.parse(message), runs).then((timing) => process.send?.(timing));
});
// Ends with the bench, however that ends.
process.once('disconnect', () => process.exit(0));
