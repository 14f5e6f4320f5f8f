import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { launchChromium, openPage } from '@recourse/test-support/chromium.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

const SLOW_MS = timeLimit(120_000);

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium(['--host-resolver-rules=MAP evil.test 127.0.0.1']);
}, SLOW_MS);
afterAll(() => browser.close(), SLOW_MS);

const EVIL_PAGE = 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<p>a page';

/** A name's address: of the attacker's server at first, and once it is rebound of the service. */
const startRebinding = async (port: number) => {
  const state = { isRebound: false };
  const sockets = new Set<Socket>();
  const follow = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).once('close', () => sockets.delete(socket));
  };
  const server = createServer((socket) => {
    follow(socket);
    if (!state.isRebound) {
      socket.once('data', () => socket.end(EVIL_PAGE));
      return;
    }
    const service = connect(port, '127.0.0.1');
    follow(service);
    socket.pipe(service).pipe(socket);
    socket.once('close', () => service.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  const address = server.address();
  return { port: toPort(address), rebind: () => (state.isRebound = true) };
};

const toPort = (address: AddressInfo | string | null): number => {
  if (address === null || typeof address === 'string') throw new Error('There is no port.');
  return address.port;
};

// A text: this program knows no DOM. Everything a page can send to its own origin without being asked first.
const ATTACK = `(async () => {
  const told = [];
  const ask = async (path, options) => {
    const answer = await fetch(path, options);
    const text = await answer.text();
    told.push((options?.method ?? 'GET') + ' ' + path + ' ' + answer.status + (!answer.ok && text.includes('forbidden_origin') ? ' refused' : ''));
  };
  for (const path of ['/tools', '/sessions/s_42', '/metrics', '/openapi.json', '/live', '/console']) await ask(path);
  await ask('/tools', { mode: 'no-cors', referrerPolicy: 'no-referrer' });
  const headers = { 'content-type': 'application/json' };
  await ask('/tool-calls', { method: 'POST', headers, body: '{"calls":[]}' });
  await ask('/sessions/s_42', { method: 'DELETE' });
  return told;
})()`;

/** What a page of that name is told by the service to which its name leads later. */
const attack = async (environment: Readonly<Record<string, string>>, name: string): Promise<unknown> => {
  const service = await startService(environment);
  onTestFinished(service.stop);
  const { port, rebind } = await startRebinding(service.port);
  const { page, close } = await openPage(browser, `http://${name}:${port}/start`);
  onTestFinished(close);
  rebind();
  return page.evaluate(ATTACK);
};

const REFUSED = [
  'GET /tools 403 refused',
  'GET /sessions/s_42 403 refused',
  'GET /metrics 403 refused',
  'GET /openapi.json 403 refused',
  'GET /live 403 refused',
  'GET /console 403 refused',
  'GET /tools 403 refused',
  'POST /tool-calls 403 refused',
  'DELETE /sessions/s_42 403 refused',
];

test('a page whose name is bound to this machine after it was loaded reads nothing of an anonymous service', {
  timeout: SLOW_MS,
}, async () => {
  expect(await attack({}, 'evil.test')).toEqual(REFUSED);
});

test('nor does it where the service listens on an address that others reach', { timeout: SLOW_MS }, async () => {
  expect(await attack({ HOST: '0.0.0.0', ALLOW_ANONYMOUS: 'true' }, 'evil.test')).toEqual(REFUSED);
});

test('a page of this machine is served the same way', { timeout: SLOW_MS }, async () => {
  expect(await attack({}, 'localhost')).toEqual([
    'GET /tools 200',
    'GET /sessions/s_42 200',
    'GET /metrics 200',
    'GET /openapi.json 200',
    'GET /live 200',
    'GET /console 200',
    'GET /tools 200',
    'POST /tool-calls 200',
    'DELETE /sessions/s_42 204',
  ]);
});
