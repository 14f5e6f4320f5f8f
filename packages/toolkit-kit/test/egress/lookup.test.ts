import { createSocket, type RemoteInfo } from 'node:dgram';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createDnsLookup, lookupBySystem } from '#src/egress/lookup.ts';

const A = 1;
const AAAA = 28;
const NXDOMAIN = 3;
type Records = Readonly<Record<number, Uint8Array>>;

/** The answer to a query with one question: the record of the asked type, if there is one (RFC 1035, section 4). */
const toAnswer = (query: Buffer, records: Records, code: number): Buffer => {
  const question = query.subarray(12, query.indexOf(0, 12) + 5);
  const type = question.readUInt16BE(question.length - 4);
  const data = records[type];
  const header = Buffer.from([
    ...query.subarray(0, 2),
    0x81,
    0x80 + code,
    0,
    1,
    0,
    data === undefined ? 0 : 1,
    0,
    0,
    0,
    0,
  ]);
  if (data === undefined) return Buffer.concat([header, question]);
  return Buffer.concat([header, question, Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length]), data]);
};

const startNameServer = async (reply: (query: Buffer) => Buffer | null) => {
  const socket = createSocket('udp4');
  let queries = 0;
  socket.on('message', (query: Buffer, from: RemoteInfo) => {
    queries += 1;
    const answer = reply(query);
    if (answer !== null) socket.send(answer, from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => void socket.close(resolve)));
  return { servers: [`127.0.0.1:${socket.address().port}`], queries: () => queries };
};

test('a name becomes all its IPv4 and IPv6 addresses', async () => {
  const v6 = Buffer.from('20010db8000000000000000000000001', 'hex');
  const { servers } = await startNameServer((query) =>
    toAnswer(query, { [A]: Buffer.from([192, 0, 2, 7]), [AAAA]: v6 }, 0),
  );
  expect(await createDnsLookup({ servers })('both.test')).toEqual(['192.0.2.7', '2001:db8::1']);
});

test('a name with addresses of one family is found', async () => {
  const { servers } = await startNameServer((query) => toAnswer(query, { [A]: Buffer.from([192, 0, 2, 7]) }, 0));
  expect(await createDnsLookup({ servers })('four.test')).toEqual(['192.0.2.7']);
});

test('a name that does not exist is ENOTFOUND', async () => {
  const { servers } = await startNameServer((query) => toAnswer(query, {}, NXDOMAIN));
  await expect(createDnsLookup({ servers })('none.test')).rejects.toMatchObject({ code: 'ENOTFOUND' });
});

test('a name server that never answers costs a bounded time', async () => {
  const { servers, queries } = await startNameServer(() => null);
  const startedAt = performance.now();
  await expect(createDnsLookup({ servers, timeoutMs: 50 })('slow.test')).rejects.toMatchObject({ code: 'ETIMEOUT' });
  expect(performance.now() - startedAt).toBeLessThan(timeLimit(2_000));
  expect(queries()).toBe(4);
});

test('localhost is this machine, whoever is asked', async () => {
  const { servers, queries } = await startNameServer(() => null);
  const lookup = createDnsLookup({ servers });
  expect(await lookup('localhost')).toEqual(['127.0.0.1', '::1']);
  expect(await lookup('app.LOCALHOST.')).toEqual(['127.0.0.1', '::1']);
  expect(queries()).toBe(0);
});

test('the operating system knows the names of its hosts file', async () => {
  expect(await lookupBySystem('localhost')).toContain('127.0.0.1');
});
