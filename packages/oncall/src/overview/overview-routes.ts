import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
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
  app.get('/overview', { config: { operation: 'read' } }, async (request, reply) => {
    const { tenant, tools, may, mayUse } = host.callerOf(request);
    const overview = find({ tenant, tools, may, mayUse, holder: callerKeyOf(request) });
    const format = request.method === 'HEAD' ? null : negotiateStream(request.headers.accept);
    void reply.header('vary', 'accept');
    if (format !== null) return stream(request, reply, { overview, format, host });
    void reply.header('cache-control', 'private, no-store');
    return sendReading(reply, (await overview.latest()).json);
  });
  refuseOtherMethods(app, '/overview', ['GET', 'HEAD']);
};

type Streaming = { readonly overview: SharedOverview; readonly format: StreamFormat; readonly host: RouteHost };

const stream = async (_request: FastifyRequest, reply: FastifyReply, { overview, format, host }: Streaming) => {
  if (host.draining.aborted) throw draining('other');
  const reading = host.readings.open(reply);
  if (reading === null) throw noPlace();
  const first = await overview.latest();
  reading.shows(first.tools);
  reading.requireRight();
  const events = new EventStream(reply, format, host.streams, ['vary', 'accept']);
  leaseLittle(reply);
  cutOffWhenOver(reading, reply);
  let sent = '';
  let count = 0;
  const send = (shown: Shown): void => {
    // A reader that has not taken the last one gets the next: each is whole.
    if (shown.content === sent || reply.raw.writableLength > 0) return;
    reading.shows(shown.tools);
    if (reading.isLost()) return;
    sent = shown.content;
    count += 1;
    events.send('snapshot', String(count), shown.json);
  };
  send(first);
  const stop = overview.follow(send);
  const end = (): void => {
    stop();
    events.close();
  };
  host.draining.addEventListener('abort', end, { once: true });
  await reading.over;
  host.draining.removeEventListener('abort', end);
  stop();
  return reply;
};
