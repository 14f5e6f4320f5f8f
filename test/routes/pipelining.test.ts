import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { openConnection, type RawConnection, toRequestText } from '@recourse/test-support/raw-http.ts';
import { expect, onTestFinished, test } from 'vitest';
import { handleInSlices } from '#src/routes/pipelining.ts';
import { addServerProblems, createClientErrorHandler } from '#src/routes/problem-handler.ts';

/** A server that hands its requests to `handle` in turns, and `open` for connections that it has accepted. */
const start = async (handle: (request: IncomingMessage, response: ServerResponse) => void) => {
  const server = createServer();
  handleInSlices(server, handle);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  const { port } = address;
  const open = async (): Promise<RawConnection> => {
    const [connection] = await Promise.all([openConnection(port), once(server, 'connection')]);
    onTestFinished(() => connection.destroy());
    return connection;
  };
  return { server, open };
};

const toGet = (path: string, times = 1): string => toRequestText(`GET ${path}`).repeat(times);

const toPost = (body: string, headers: readonly (readonly [string, string])[] = []): string =>
  toRequestText('POST /', [['Content-Length', `${body.length}`], ...headers], body);

const echo = async (request: IncomingMessage, response: ServerResponse, until: Promise<void> | null = null) => {
  const body = await text(request);
  if (until !== null) await until;
  response.setHeader('Content-Length', body.length).end(body);
};

const HOSTILE = { connections: 40, requests: 33 };

test.each([
  ['requests', toGet('/')],
  ['requests that are answered before their bodies are read', toPost('body')],
])(
  'forty connections that pipeline %s do not keep another waiting: ten of its requests, one after the other, are answered before half of theirs start',
  async (_, hostileRequest) => {
    let pipelined = 0;
    const { open } = await start(({ url }, response) => {
      if (url === '/') pipelined += 1;
      response.end();
    });
    const hostile: RawConnection[] = [];
    while (hostile.length < HOSTILE.connections) hostile.push(await open());
    const other = await open();
    for (const connection of hostile) connection.write(hostileRequest.repeat(HOSTILE.requests));
    for (let i = 0; i < 10; i += 1) {
      other.write(toGet('/other'));
      await other.answer();
    }
    expect(pipelined).toBeLessThan((HOSTILE.connections * HOSTILE.requests) / 2);
    for (const { answer } of hostile) for (let i = 0; i < HOSTILE.requests; i += 1) await answer();
    expect(pipelined).toBe(HOSTILE.connections * HOSTILE.requests);
  },
);

test('pipelined requests run side by side, with whole bodies, and are answered in their order', async () => {
  const whole = Array.from({ length: 30 }, (_, at) => String(at).repeat(500));
  const cut = 'cut in two';
  let started = 0;
  const lastStarted = Promise.withResolvers<void>();
  const { open } = await start((request, response) => {
    started += 1;
    if (started === whole.length + 1) lastStarted.resolve();
    void echo(request, response, started === 1 ? lastStarted.promise : null);
  });
  const connection = await open();
  connection.write(whole.map((body) => toPost(body)).join('') + toPost(cut).slice(0, -5));
  for (const body of whole) expect((await connection.answer()).body).toBe(body);
  connection.write(cut.slice(-5));
  expect((await connection.answer()).body).toBe(cut);
});

test('more than may wait is answered, too, where it comes in more than one reading: it is not read before', async () => {
  const { open } = await start((request, response) => void request.resume().once('end', () => response.end()));
  const connection = await open();
  connection.write(toPost('x'.repeat(2000)).repeat(1000));
  for (let i = 0; i < 1000; i += 1) expect((await connection.answer()).status).toBe(200);
});

test('a connection of which as many wait as may does so again', async () => {
  const { open } = await start((_, response) => void response.end());
  const connection = await open();
  for (let round = 0; round < 3; round += 1) {
    connection.write(toGet('/', 1 + 8 + 32));
    for (let i = 0; i < 41; i += 1) expect((await connection.answer()).status).toBe(200);
  }
});

test('a body is asked for by 100 Continue also where its request has waited', async () => {
  const { open } = await start((request, response) => void echo(request, response));
  const connection = await open();
  connection.write(toPost('whole').repeat(30) + toPost('later', [['Expect', '100-continue']]).slice(0, -5));
  for (let i = 0; i < 30; i += 1) expect((await connection.answer()).body).toBe('whole');
  expect((await connection.answer()).status).toBe(100);
  connection.write('later');
  expect((await connection.answer()).body).toBe('later');
});

test('what waits of a connection that has gone never starts', async () => {
  let started = 0;
  const { open } = await start(({ socket, url }, response) => {
    response.end();
    if (url !== '/pipelined') return;
    started += 1;
    if (started === 20) socket.destroy();
  });
  const [gone, other] = [await open(), await open()];
  gone.write(toGet('/pipelined', 40));
  await gone.ended;
  other.write(toGet('/other', 40));
  for (let i = 0; i < 40; i += 1) await other.answer();
  expect(started).toBe(20);
});

test('behind a request that is malformed, or one too many, nothing is read, and what came before is answered', async () => {
  const held: ServerResponse[] = [];
  const refused: string[] = [];
  const { server, open } = await start(({ url }, response) => {
    if (url === '/late') held.push(response);
    else response.end();
  });
  const refuse = createClientErrorHandler(() => 'id');
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    refused.push(error.code ?? '');
    refuse(error, socket);
  });
  const [malformed, many, other] = [await open(), await open(), await open()];
  malformed.write(`${toGet('/late')}garbage\r\n\r\n`);
  many.write(toGet('/late', 1000));
  for (let i = 0; i < 40; i += 1) {
    malformed.write('more garbage');
    many.write(toGet('/late'));
    other.write(toGet('/other'));
    await other.answer();
  }
  expect(refused.toSorted()).toEqual(['HPE_CB_HEADERS_COMPLETE', 'HPE_INVALID_METHOD']);
  expect(held.length).toBeLessThan(50);
  const late = held.length - 1;
  for (const response of held) response.end();
  expect((await malformed.answer()).status).toBe(200);
  expect((await malformed.answer()).status).toBe(400);
  for (let i = 0; i < late; i += 1) expect((await many.answer()).status).toBe(200);
  expect(await many.answer()).toMatchObject({ status: 429, body: expect.stringContaining('"too_many_pipelined"') });
  await Promise.all([malformed.ended, many.ended]);
});

test('an Expect that nobody knows is the last request that is looked at', async () => {
  const refused: string[] = [];
  const { server, open } = await start((_, response) => void response.end());
  addServerProblems(server, () => String(refused.push('417')));
  server.on(
    'clientError',
    createClientErrorHandler(() => 'id'),
  );
  const connection = await open();
  connection.write(toGet('/') + toRequestText('GET /', [['Expect', 'miracles']]).repeat(50));
  expect((await connection.answer()).status).toBe(200);
  expect((await connection.answer()).status).toBe(417);
  await connection.ended;
  expect(refused).toEqual(['417']);
});
