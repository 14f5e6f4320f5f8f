import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import * as z from 'zod';
import type { ContractCase, ScriptedAnswer } from './contract-case.ts';

export type SeenRequest = {
  readonly method: string;
  /** Behind that of the case, decoded no further than it came. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly body: unknown;
};

/** Answers by the script of each case below a path of its own, and remembers what came. */
export type ScriptedServer = {
  readonly origin: string;
  readonly urlOf: (place: number) => string;
  readonly requestsOf: (place: number) => readonly SeenRequest[];
  readonly stop: () => Promise<void>;
};

type Scripted = Pick<ContractCase, 'answers'>;

const toBody = (bodies: Readonly<Record<string, unknown>>, { body, json, text: said = '', repeat }: ScriptedAnswer) => {
  if (json !== undefined) return JSON.stringify(json);
  if (body === undefined) return said.repeat(repeat ?? 1);
  const known = bodies[body];
  if (known === undefined) throw new Error(`The contract has no body ${body}.`);
  return JSON.stringify(known);
};

const flood = (response: ServerResponse): void => {
  while (!response.destroyed) if (!response.write(SPACES)) return void response.once('drain', () => flood(response));
};
const SPACES = Buffer.alloc(256 * 1024, ' ');

const drip = (response: ServerResponse, bytes: readonly number[]): void => {
  const [first, ...others] = bytes;
  if (first === undefined) return void response.end();
  response.write(Buffer.of(first), () => setImmediate(drip, response, others));
};

const every10Ms = (response: ServerResponse, act: () => void): void => {
  const timer = setInterval(act, 10);
  response.on('close', () => clearInterval(timer));
};

const reset = (response: ServerResponse): void => void response.socket?.resetAndDestroy();

/** The ways of giving an answer, beside giving it. */
const MANNERS: Readonly<
  Record<NonNullable<ScriptedAnswer['manner']>, (response: ServerResponse, body: string, request: SeenRequest) => void>
> = {
  reset,
  silence: () => undefined,
  break: (response, body) => {
    response.setHeader('content-length', Buffer.byteLength(body));
    response.write(body.slice(0, body.length / 2), () => setImmediate(reset, response));
  },
  'early-end': (response, body) => {
    response.setHeader('content-length', Buffer.byteLength(body));
    response.write(body.slice(0, body.length / 2), () => response.socket?.end());
  },
  bytes: (response, body) => drip(response, [...Buffer.from(body)]),
  endless: flood,
  dripping: (response) => every10Ms(response, () => void response.write(' ')),
  hints: (response) => every10Ms(response, () => response.writeEarlyHints({ link: '</a>; rel=preload' })),
  'early-hint': (response, body) => response.writeEarlyHints({ link: '</a>; rel=preload' }, () => response.end(body)),
  echo: (response, _body, { headers }) =>
    response.end(
      JSON.stringify({
        status: 400,
        code: 'bad_header',
        detail: `No such header: ${headers['authorization']}`,
        headers,
      }),
    ),
};

const Addressed = z.object({ place: z.coerce.number(), path: z.string() });

const readSeen = async (request: IncomingMessage, path: string): Promise<SeenRequest> => {
  const url = new URL(path, 'http://case');
  const received = await text(request);
  return {
    method: request.method ?? '',
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
    text: received,
    body: received === '' ? undefined : JSON.parse(received),
  };
};

export const startScriptedServer = async (
  cases: readonly Scripted[],
  bodies: Readonly<Record<string, unknown>>,
): Promise<ScriptedServer> => {
  const seen = cases.map((): SeenRequest[] => []);
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { place, path } = Addressed.parse(/^\/case-(?<place>\d+)(?<path>\/.*)$/.exec(request.url ?? '')?.groups);
    const one = await readSeen(request, path);
    const count = seen[place]?.push(one) ?? 0;
    const answers = cases[place]?.answers ?? [];
    give(response, answers[Math.min(count, answers.length) - 1] ?? { status: 500 }, one);
  };
  const give = (response: ServerResponse, scripted: ScriptedAnswer, request: SeenRequest): void => {
    const { status = 200, headers = {}, manner } = scripted;
    const body = toBody(bodies, scripted);
    response.statusCode = status;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (manner === undefined) response.end(body);
    else MANNERS[manner](response, body, request);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  const origin = `http://127.0.0.1:${address.port}`;
  return {
    origin,
    urlOf: (place) => `${origin}/case-${place}`,
    requestsOf: (place) => seen[place] ?? [],
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
