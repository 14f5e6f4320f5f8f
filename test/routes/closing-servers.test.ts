import { createTool } from '@recourse/test-support/circuit-lab.ts';
import {
  openConnection,
  type RawAnswer,
  type RawConnection,
  toPostText,
  toRequestText,
} from '@recourse/test-support/raw-http.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

const BATCH = JSON.stringify({ calls: [{ name: 'until_told', arguments: {} }] });

/** A service with a tool that ends when it is told to; and the way to begin its end, until it accepts no connection any more. */
const start = async () => {
  const told = Promise.withResolvers<string>();
  const began = Promise.withResolvers<void>();
  const untilTold = createTool('until_told', {
    input: z.object({}),
    run: () => {
      began.resolve();
      return told.promise;
    },
  });
  const service = await startService({ OPS_PORT: '0' }, [untilTold]);
  onTestFinished(service.stop);
  onTestFinished(() => told.resolve('told'));
  const open = async (port: number): Promise<RawConnection> => {
    const connection = await openConnection(port);
    onTestFinished(() => connection[Symbol.dispose]());
    return connection;
  };
  const [port, opsPort] = [service.port, Number(new URL(service.opsUrl).port)];
  const beginToClose = async (): Promise<void> => {
    service.drain();
    void service.closeServers();
    for (const each of [port, opsPort]) await waitUntilRefused(each);
  };
  return { began: began.promise, tell: () => told.resolve('told'), open, port, opsPort, beginToClose };
};

const waitUntilRefused = async (port: number): Promise<void> => {
  for (;;) {
    const connection = await openConnection(port).catch(() => null);
    if (connection === null) return;
    connection[Symbol.dispose]();
  }
};

const toProblem = ({ status, headers, body }: RawAnswer): unknown => ({
  status,
  type: headers.get('content-type'),
  retryAfter: headers.get('retry-after'),
  code: JSON.parse(body).code,
});

const DRAINING = {
  status: 503,
  type: expect.stringMatching(/^application\/problem\+json/),
  retryAfter: '1',
  code: 'draining',
};

test('a request on a connection that was open when the servers began to close is answered as while the service drains', async () => {
  const { open, port, opsPort, beginToClose } = await start();
  // Half a head, which the server has read with the request before it: a connection without one is closed with the server.
  const begin = async (to: number, text: string) => {
    const connection = await open(to);
    connection.write(toRequestText('GET /nothing-here') + text.slice(0, 10));
    await connection.answer();
    return async () => {
      connection.write(text.slice(10));
      return connection.answer();
    };
  };
  const [batch, tools, session, missing, live, ready, metrics] = await Promise.all([
    begin(port, toPostText(BATCH)),
    begin(port, toRequestText('GET /tools')),
    begin(port, toRequestText('DELETE /sessions/a')),
    begin(port, toRequestText('GET /nothing-here')),
    begin(opsPort, toRequestText('GET /live')),
    begin(opsPort, toRequestText('GET /ready')),
    begin(opsPort, toRequestText('GET /metrics')),
  ]);
  await beginToClose();

  for (const finish of [batch, tools, session]) expect(toProblem(await finish())).toEqual(DRAINING);
  expect(toProblem(await missing())).toMatchObject({ status: 404, code: 'not_found' });
  expect(await live()).toMatchObject({ status: 200, body: '{"status":"live"}' });
  const notReady = await ready();
  expect([notReady.status, JSON.parse(notReady.body).status]).toEqual([503, 'draining']);
  expect(await metrics()).toMatchObject({ status: 200, body: expect.stringContaining('recourse_') });
});

test('a batch that is pipelined behind a running one once the servers close is refused as while the service drains', async () => {
  const { began, tell, open, port, beginToClose } = await start();
  const connection = await open(port);
  connection.write(toPostText(BATCH));
  await began;
  await beginToClose();
  connection.write(toPostText(BATCH));
  tell();

  const first = await connection.answer();
  expect([first.status, JSON.parse(first.body).results[0].value]).toEqual([200, 'told']);
  expect(toProblem(await connection.answer())).toEqual(DRAINING);
  await connection.ended;
});
