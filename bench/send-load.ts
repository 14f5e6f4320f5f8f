import autocannon from 'autocannon';
import { FRESH_ID, ROTATING_SESSIONS, toHeaders, toSessionTexts } from './bodies.ts';
import { TROUBLES, toMessage } from './forms.ts';
import { LoadPlan, type LoadResult } from './load-plan.ts';

const WARNING_SHOWN = 300;

/** Sends batches as fast as they are answered, one at a time on each connection. */
const sendLoad = async (plan: LoadPlan, run: number): Promise<LoadResult> => {
  const { url, kind, manner, form, calls, connections, seconds } = plan;
  const toRequests = (connection: number) =>
    toSessionTexts({ ...plan, sessions: ROTATING_SESSIONS, run, connection }).map((turn) =>
      toMessage(form, { kind, calls, ...turn }),
    );
  const findTrouble = createFindTrouble(TROUBLES[form]);
  let started = 0;
  let warned = 0;
  let warning = '';
  const result = await autocannon({
    url,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...toHeaders(manner, FRESH_ID) },
    connections,
    duration: seconds,
    // Runs end at a sample: with samples of a second, one of three seconds may last four.
    sampleInt: 100,
    idReplacement: kind === 'failing' || manner === 'keyed' || manner === 'unkeyed',
    requests: toRequests(0).slice(0, 1),
    setupClient: (client) => {
      client.setRequests(toRequests(started));
      client.on('body', (piece) => {
        const at = findTrouble(piece);
        if (at === -1) return;
        warned += 1;
        warning ||= piece.toString('utf8', at, at + WARNING_SHOWN);
      });
      started += 1;
    },
  });
  const answers = result.statusCodeStats?.['200']?.count ?? 0;
  const others = result.non2xx + result['2xx'] + result['1xx'] - answers;
  return {
    answers,
    failures: others + result.errors + result.timeouts + result.mismatches,
    told: JSON.stringify({ ...result.statusCodeStats, errors: result.errors, timeouts: result.timeouts }),
    warned,
    warning,
    seconds: result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
  };
};

// Whole answers are not read here, which would cost more than sending them.
const createFindTrouble = (texts: readonly string[]): ((piece: Buffer) => number) => {
  const marks = texts.map((text) => Buffer.from(text));
  return (piece) => {
    for (const mark of marks) {
      const at = piece.indexOf(mark);
      if (at !== -1) return at;
    }
    return -1;
  };
};

let runs = 0;
process.on('message', (message) => {
  runs += 1;
  void sendLoad(LoadPlan.parse(message), runs).then((result) => process.send?.(result));
});
// Ends with the bench, however that ends.
process.once('disconnect', () => process.exit(0));
