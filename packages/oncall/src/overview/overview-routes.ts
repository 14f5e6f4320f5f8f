import type { FastifyInstance, FastifyReply } from 'fastify';
import { EventStream, negotiateStream, type StreamFormat } from 'recourse-server/routes/event-stream';
import { cutOffWhenOver, noPlace } from 'recourse-server/routes/open-readings';
import { refuseOtherMethods } from 'recourse-server/routes/problem-handler';
import { draining } from 'recourse-server/routes/problems';
import { callerKeyOf } from 'recourse-server/routes/request-gate';
import { leaseLittle } from 'recourse-server/routes/request-memory';
import type { RouteHost } from 'recourse-server/routes/route-host';
import { sendReading } from 'recourse-server/routes/send-answer';
import type { OverviewReader, SharedOverview, Shown } from './shared-overview.ts';

/**
 * GET /overview: what people on call read first, of the caller's tenant and the tools that its key may use. By `Accept` a stream of it:
 * `snapshot` at once, and again when something has changed, at most every 2 s.
 */
export const addOverviewRoutes = (
  app: FastifyInstance,
  host: RouteHost,
  find: (reader: OverviewReader) => SharedOverview,
): void => {
  const open = new Set<() => void>();
  host.draining.addEventListener('abort', () => {
    for (const end of open) end();
  });
  app.get('/overview', { config: { operation: 'read' } }, async (request, reply) => {
    const { tenant, tools, may, mayUse } = host.callerOf(request);
    const overview = find({ tenant, tools, may, mayUse, holder: callerKeyOf(request) });
    const format = request.method === 'HEAD' ? null : negotiateStream(request.headers.accept);
    void reply.header('vary', 'accept');
    if (format !== null) return stream(reply, { overview, format, host, open });
    void reply.header('cache-control', 'private, no-store');
    return sendReading(reply, (await overview.latest()).json);
  });
  refuseOtherMethods(app, '/overview', ['GET', 'HEAD']);
};

type Streaming = {
  readonly overview: SharedOverview;
  readonly format: StreamFormat;
  readonly host: RouteHost;
  /** Ends each stream that is open. */
  readonly open: Set<() => void>;
};

const stream = async (reply: FastifyReply, { overview, format, host, open }: Streaming) => {
  if (host.draining.aborted) throw draining('other');
  const reading = host.readings.open(reply);
  if (reading === null) throw noPlace();
  const first = await overview.latest();
  // Its totals are of all tools that the key may use.
  reading.shows([...host.describeTools().map(({ name }) => name), ...first.tools]);
  reading.requireRight();
  const events = new EventStream(reply, format, host.streams, ['vary', 'accept']);
  leaseLittle(reply);
  cutOffWhenOver(reading, reply);
  let sent = '';
  let count = 0;
  const send = (shown: Shown): void => {
    sent = shown.content;
    count += 1;
    events.send('snapshot', String(count), shown.json);
  };
  send(first);
  const stop = overview.follow((shown) => {
    // A reader that has not taken the last one gets the next: each is whole.
    if (shown.content !== sent && reply.raw.writableLength === 0) send(shown);
  });
  const end = (): void => events.close();
  open.add(end);
  await reading.over;
  open.delete(end);
  stop();
  return reply;
};
