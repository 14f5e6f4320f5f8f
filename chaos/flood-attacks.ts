import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { toPostText, toRequestText } from '@recourse/test-support/raw-http.ts';
import { FLOOD_KEY } from './flood-service.ts';

export const FLOOD_FORMATS = ['native', 'openai-chat', 'anthropic', 'gemini'] as const;

/** An attack by `lanes` clients at once: `bytes` of payload, in this format, for a tool that takes `toolMs`. */
export type Flood = {
  readonly attack: AttackName;
  readonly format: (typeof FLOOD_FORMATS)[number];
  readonly bytes: number;
  readonly toolMs: number;
  readonly lanes: number;
};

export type FloodTarget = {
  readonly port: number;
  /** The request id of a batch whose calls are pending until the end of the flood. */
  readonly pendingRequest: string;
};

/** What each client of an attack sends, on a connection of its own, and how. */
type Attack = {
  readonly text: string;
  /** When the client leaves; left out: after longer than any tool of a flood takes. */
  readonly forMs?: number;
  /** A client that does not read leaves its answer in the buffers of the service. */
  readonly reads?: 'nothing';
  /** One is sent every 200 ms. */
  readonly pieces?: number;
};

type Header = readonly [name: string, value: string];

const KEY: Header = ['X-API-Key', FLOOD_KEY];
const LAST: Header = ['Connection', 'close'];
const ASYNC: Header = ['Prefer', 'respond-async, wait=0'];
const STREAM: Header = ['Accept', 'application/x-ndjson'];

const toMessage = (format: Flood['format'], id: string, name: string, input: object): object => {
  if (format === 'openai-chat')
    return { tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(input) } }] };
  if (format === 'anthropic') return { content: [{ type: 'tool_use', id, name, input }] };
  if (format === 'gemini') return { role: 'model', parts: [{ functionCall: { id, name, args: input } }] };
  return { calls: [{ id, name, arguments: input }] };
};

type Call = {
  readonly id?: string;
  readonly name?: string;
  readonly input?: object;
  readonly headers?: readonly Header[];
};

const toBatch = ({ format, toolMs }: Flood, call: Call): string => {
  const { id = 'f', name = 'flood_wait', input = {}, headers = [LAST] } = call;
  return toPostText(JSON.stringify(toMessage(format, id, name, { ms: toolMs, ...input })), [KEY, ...headers]);
};

const toLarge = (flood: Flood, call: Call = {}): string =>
  toBatch(flood, { input: { text: 'x'.repeat(flood.bytes) }, ...call });
const toLargeAnswer = (flood: Flood, call: Call = {}): string =>
  toBatch(flood, { name: 'flood_large', input: { bytes: flood.bytes }, ...call });

const toChunked = (text: string): string => {
  const [head = '', body = ''] = text.split('\r\n\r\n');
  const chunked = head.replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked');
  return `${chunked}\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
};

const ofPending = (method: 'GET' | 'DELETE', { pendingRequest }: FloodTarget, more: string): string =>
  toRequestText(`${method} /tool-calls/${pendingRequest}${more}`, [KEY, LAST]);

const UNREAD_MS = 10_000;
const PIPELINED = 400;
// Nearly the longest that a call may have.
const LONG_ID = 'x'.repeat(16_000);
// Nearly a megabyte.
const NAMES = Object.fromEntries(Array.from({ length: 90_000 }, (_, at) => [`k${at}`, 1]));

const ATTACKS = {
  'large arguments': (flood) => ({ text: toLarge(flood) }),
  'long ids': (flood) => ({ text: toBatch(flood, { id: LONG_ID }) }),
  'ids that are too long': (flood) => ({ text: toBatch(flood, { id: 'x'.repeat(flood.bytes) }) }),
  'pending arguments': (flood) => ({ text: toLarge(flood, { name: 'flood_park', headers: [ASYNC, LAST] }) }),
  'pending ids': (flood) => ({ text: toBatch(flood, { name: 'flood_park', id: LONG_ID, headers: [ASYNC, LAST] }) }),
  'long polls': (_, target) => ({ text: ofPending('GET', target, '?wait_ms=30000') }),
  streams: (_, target) => ({ text: ofPending('GET', target, '/events'), forMs: UNREAD_MS }),
  cancellations: (_, target) => ({ text: ofPending('DELETE', target, '/calls/0') }),
  'large answers': (flood) => ({ text: toLargeAnswer(flood) }),
  'answers that are not read': (flood) => ({ text: toLargeAnswer(flood), forMs: UNREAD_MS, reads: 'nothing' }),
  'streams that are not read': (flood) => ({
    text: toLargeAnswer(flood, { headers: [STREAM, LAST] }),
    forMs: UNREAD_MS,
    reads: 'nothing',
  }),
  'clients that leave': (flood) => ({ text: toLarge(flood), forMs: 300, reads: 'nothing' }),
  'slow bodies': (flood) => ({ text: toLarge(flood), pieces: 20 }),
  'chunked bodies': (flood) => ({ text: toChunked(toLarge(flood)) }),
  'pipelined batches': (flood) => ({
    text: toBatch(flood, { name: 'echo', headers: [] }).repeat(PIPELINED) + toBatch(flood, { name: 'echo' }),
  }),
  'unknown parameters': (flood) => ({ text: toBatch(flood, { name: 'echo', input: NAMES }) }),
} as const satisfies Readonly<Record<string, (flood: Flood, target: FloodTarget) => Attack>>;

export type AttackName = keyof typeof ATTACKS;
export const isAttack = (name: string): name is AttackName => Object.hasOwn(ATTACKS, name);
export const ATTACK_NAMES: readonly AttackName[] = Object.keys(ATTACKS).filter(isAttack);

const ANSWER_MS = 30_000;
const BETWEEN_PIECES_MS = 200;

/** Sends one request on a connection of its own; gives the status that came, or why none did. */
const exchange = async (
  port: number,
  attack: Attack & { readonly bytes: Buffer },
  signal: AbortSignal,
): Promise<string> => {
  const { bytes, forMs = ANSWER_MS, reads, pieces = 1 } = attack;
  const leave = AbortSignal.any([signal, AbortSignal.timeout(forMs)]);
  const socket = connect({ port, host: '127.0.0.1', signal: leave });
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  // A service that is full may reset a connection: what came before counts.
  socket.on('error', () => undefined).once('close', () => resolve());
  let head = '';
  if (reads !== 'nothing')
    socket.on('data', (data: Buffer) => {
      if (head.length < 12) head += data.toString('latin1', 0, 12);
    });
  const size = Math.ceil(bytes.length / pieces);
  for (let at = 0; at < bytes.length && !socket.destroyed; at += size) {
    socket.write(bytes.subarray(at, at + size));
    if (pieces > 1) await wait(BETWEEN_PIECES_MS);
  }
  await closed;
  return /^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? (leave.aborted ? 'client left' : 'closed');
};

const PAUSE_MS = 500;

/** Keeps all lanes of a flood busy until `signal`; counts what came of each request by `attack: outcome`. */
export const runFlood = async (
  flood: Flood,
  target: FloodTarget,
  signal: AbortSignal,
  count: (outcome: string) => void,
): Promise<void> => {
  const attack: Attack = ATTACKS[flood.attack](flood, target);
  const sending = { ...attack, bytes: Buffer.from(attack.text) };
  const lane = async (): Promise<void> => {
    while (!signal.aborted) {
      count(`${flood.attack}: ${await exchange(target.port, sending, signal)}`);
      // A client that is refused waits a little: without it the flood measures its own processor.
      await wait(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  };
  await Promise.all(Array.from({ length: flood.lanes }, lane));
};
