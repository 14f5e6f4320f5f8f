import { toBodies } from '../bodies.ts';
import { openConnection, toPost } from './http-connection.ts';
import { percentileOf } from './percentile.ts';
import { type Timing, TimingPlan } from './timing-plan.ts';

/** Sends one batch after the other and notes how long each took. Rejects where one fails. */
const sendTimed = ({ url, kind, calls, seconds }: TimingPlan): Promise<Timing> =>
  new Promise((resolve, reject) => {
    const requests = toBodies(kind, calls).map((body) => toPost(url, body));
    const times: number[] = [];
    const end = performance.now() + seconds * 1000;
    let sentAt = 0;
    const sendNext = (): void => {
      const request = requests[times.length % requests.length] ?? '';
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
        if (status !== 200 || body.includes('"success":false'))
          throw new Error(`A batch of ${calls} ${kind} calls failed (${status}): ${body.slice(0, 500)}`);
        if (now < end) sendNext();
        else finish();
      },
      onBroken: (reason) => reject(new Error(reason)),
    });
    sendNext();
  });

process.on('message', (message) => {
  void sendTimed(TimingPlan.parse(message)).then((timing) => process.send?.(timing));
});
// Ends with the bench, however that ends.
process.once('disconnect', () => process.exit(0));
