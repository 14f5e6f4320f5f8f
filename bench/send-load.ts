import autocannon from 'autocannon';
import { toBodies } from './bodies.ts';
import { LoadPlan, type LoadResult } from './load-plan.ts';

/** Sends batches as fast as they are answered, one at a time on each connection. */
const sendLoad = async ({ url, kind, calls, connections, seconds }: LoadPlan): Promise<LoadResult> => {
  const bodies = toBodies(kind, calls);
  let started = 0;
  const result = await autocannon({
    url,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    connections,
    duration: seconds,
    // Runs end at a sample: with samples of a second, one of three seconds may last four.
    sampleInt: 100,
    idReplacement: kind === 'failing',
    requests: bodies.slice(0, 1).map((body) => ({ body })),
    // Each connection begins at another session, or all would be in the same one at the same time.
    setupClient: (client) => {
      const first = Math.floor((started * bodies.length) / connections);
      started += 1;
      client.setRequests([...bodies.slice(first), ...bodies.slice(0, first)].map((body) => ({ body })));
    },
  });
  const answers = result.statusCodeStats?.['200']?.count ?? 0;
  const others = result.non2xx + result['2xx'] + result['1xx'] - answers;
  return {
    answers,
    failures: others + result.errors + result.timeouts + result.mismatches,
    seconds: result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
  };
};

process.on('message', (message) => {
  void sendLoad(LoadPlan.parse(message)).then((result) => process.send?.(result));
});
// Ends with the bench, however that ends.
process.once('disconnect', () => process.exit(0));
