import { hash } from 'node:crypto';
import { startService } from '@recourse/test-support/start-service.ts';

const KEY = 'a-key-of-this-run-alone';

type Request = {
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: 200 | 400 | 401;
};

const ECHO = { name: 'echo', arguments: { text: 'a' } };
const WITHOUT_ARGUMENTS = { name: 'write_file', arguments: {} };
const missing = (name: string) => ({ name: 'read_file', arguments: { path: name } });
const inSession = (...calls: readonly unknown[]): Request => ({ body: { session_id: 'lint', calls }, status: 200 });
const keyed: Request = { body: { calls: [ECHO] }, headers: { 'idempotency-key': 'once' }, status: 200 };

// One of each kind of end: successes, a tool's failure, bad arguments, no such tool, no call, no retry left, a repeat.
const REQUESTS: readonly Request[] = [
  inSession(ECHO, missing('a'), WITHOUT_ARGUMENTS, { name: 'no_such_tool' }, 42),
  ...['b', 'c', 'd', 'e'].map((name) => inSession(missing(name))),
  keyed,
  keyed,
  { body: { calls: 'not a list' }, status: 400 },
  { body: { calls: [] }, headers: { authorization: 'Bearer another-key' }, status: 401 },
];

const send = async (url: string, { body, headers, status }: Request): Promise<void> => {
  const answer = await fetch(`${url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}`, ...headers },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (answer.status !== status) throw new Error(`HTTP ${answer.status} instead of ${status}: ${text}`);
};

/** What `GET /metrics` gives after a service on loopback has had batches that end in every common way. */
export const collectExposition = async (): Promise<string> => {
  const service = await startService({ API_KEYS: `lint=${hash('sha256', KEY)}`, LOG_LEVEL: 'silent' });
  try {
    for (const request of REQUESTS) await send(service.url, request);
    return await (await fetch(`${service.url}/metrics`)).text();
  } finally {
    await service.stop();
  }
};
