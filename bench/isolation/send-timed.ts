import { randomUUID } from 'node:crypto';
import { toBodies, toHeaders } from '../bodies.ts';
import { openConnection, toPost } from './http-connection.ts';
import { percentileOf } from './percentile.ts';
import { type Timing, TimingPlan } from './timing-plan.ts';

// Goes on from run to run, so that short runs come to all sessions in the end.
let position = 0;

/** Sends one batch after the other and notes how long each took. Rejects where one fails. */
const sendTimed = (plan: TimingPlan, run: number): Promise<Timing> =>
  new Promise((resolve, reject) => {
    const { url, kind, manner, calls, seconds } = plan;
    const bodies = toBodies({ ...plan, run, connection: 0, connections: 1 });
    const times: number[] = [];
    const end = performance.now() + seconds * 1000;
    let sentAt = 0;
    const sendNext = (): void => {
      const request = toPost(url, bodies[position % bodies.length] ?? '', toHeaders(manner, randomUUID()));
      position += 1;
      sentAt = performance.now();
      connection.send(request);
    };
    const finish = (): void => {
      connection.close();
      const sorted = Float64Array.from(times).sort();
      resolve({ answers: sorted.length, p50: percentileOf(sorted, 0.5), p99: percentileOf(sorted, 0.99) });
    };
    const connection = openConnection(url, {
      onAnswer: ({ status, body }) => {
        const now = performance.now();
        times.push(now - sentAt);
        if (status !== 200 || body.includes('"success":false') || body.includes('"warnings":'))
          throw new Error(`A batch of ${calls} ${kind} calls failed (${status}): ${body.slice(0, 500)}`);
        if (now < end) sendNext();
        else finish();
      },
      onBroken: (reason) => reject(new Error(reason)),
    });
    sendNext();
  });

let runs = 0;
process.on('message', (message) => {
  runs += 1;
  void sendTimed(TimingPlan.parse(message), runs).then((timing) => process.send?.(timing));
});
// Ends with the bench, however that ends.
process.once('disconnect', () => process.exit(0));
