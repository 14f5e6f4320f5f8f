import { once } from 'node:events';
import { connect } from 'node:net';
import { openConnection, toGet } from '../http-connection.ts';
import { HoldPlan, type HoldResult } from './hold-plan.ts';

// A listening socket keeps 511 new connections; one more, and the kernel lets it wait for a second or longer.
const OPENED_AT_ONCE = 100;
const MOST_COMPLAINTS = 5;
const WAIT_MS = 30_000;
const HEARTBEAT = ':\n\n';

const held = { polls: 0, streams: 0, pollsAgain: 0, heartbeats: 0, complaints: new Set<string>() };

const complain = (reason: string): void => {
  if (held.complaints.size < MOST_COMPLAINTS) held.complaints.add(reason.slice(0, 300));
};

const openAll = async (ids: readonly string[], open: (id: string) => Promise<void>): Promise<void> => {
  for (let opened = 0; opened < ids.length; opened += OPENED_AT_ONCE)
    await Promise.all(ids.slice(opened, opened + OPENED_AT_ONCE).map(open));
};

/** Asks for the results of a batch again and again, each time for as long as the service lets it wait. */
const openPoll = (url: string, requestId: string): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const request = toGet(url, `/tool-calls/${requestId}?wait_ms=${WAIT_MS}`);
  const connection = openConnection(url, {
    onOpen: () => {
      held.polls += 1;
      connection.send(request);
      resolve();
    },
    onAnswer: ({ status, body }) => {
      if (status !== 202) complain(`a poll was answered ${status}: ${body}`);
      held.pollsAgain += 1;
      connection.send(request);
    },
    onBroken: (reason) => {
      held.polls -= 1;
      complain(`a poll: ${reason}`);
      resolve();
    },
  });
  return promise;
};

const openStream = async (url: string, requestId: string): Promise<void> => {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  socket.on('error', (error) => complain(`a stream: ${error.message}`));
  socket.on('close', () => {
    held.streams -= 1;
    complain('a stream ended');
  });
  await once(socket, 'connect');
  socket.write(toGet(url, `/tool-calls/${requestId}/events`));
  const [head] = await once(socket.setEncoding('latin1'), 'data');
  if (!String(head).startsWith('HTTP/1.1 200')) complain(`a stream was answered ${String(head)}`);
  held.streams += 1;
  // A sign of life may be cut by chunks; it counts where it comes whole.
  socket.on('data', (text: string) => {
    if (text.includes(HEARTBEAT)) held.heartbeats += 1;
  });
};

const toResult = (): HoldResult => ({ ...held, complaints: [...held.complaints] });

const perform = async (plan: HoldPlan): Promise<HoldResult> => {
  if (plan.kind === 'count') return toResult();
  await openAll(plan.polls, (id) => openPoll(plan.url, id));
  await openAll(plan.streams, (id) => openStream(plan.url, id));
  return toResult();
};

process.on('message', (message) => {
  void perform(HoldPlan.parse(message)).then((result) => process.send?.(result));
});
// Ends with the bench, however that ends.
process.once('disconnect', () => process.exit(0));
