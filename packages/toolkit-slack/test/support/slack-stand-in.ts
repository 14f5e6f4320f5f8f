import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { answerSlackMethod, type SlackWorkspace } from './slack-workspace.ts';

/** A request as it came. */
export type SlackRequestSeen = {
  /** `chat.postMessage` */
  readonly method: string;
  readonly verb: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly form: Readonly<Record<string, string>>;
};

type AnswerFault = {
  readonly kind: 'answer';
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * What a request meets instead of its answer. `answer`: these words. `cut` and `silent`: nothing, and the connection is
 * cut or kept. `done_then_cut`: it is done, and its answer is lost. `done_with`: it is done, and its answer has this
 * status. `half`: half of its answer comes, and no more. `drip`: it is done, half of its answer comes, and then nothing.
 */
export type SlackFault =
  | AnswerFault
  | { readonly kind: 'cut' | 'silent' | 'done_then_cut' | 'half' | 'drip' }
  | { readonly kind: 'done_with'; readonly status: number };

/** Slack's Web API on loopback, as docs.slack.dev describes it: POST of a form, a bearer token, `ok: false` with 200. */
export type SlackStandIn = {
  readonly origin: string;
  readonly workspace: SlackWorkspace;
  readonly requests: readonly SlackRequestSeen[];
  /** What the next requests meet, one each. */
  readonly meet: (...faults: readonly SlackFault[]) => void;
};

/** `{"ok": false, "error": …}` with 200, as Slack refuses. */
export const refusing = (error: string, more: object = {}): AnswerFault => ({
  kind: 'answer',
  status: 200,
  body: JSON.stringify({ ok: false, error, ...more }),
});

/** A status with a body that is not Slack's. */
export const failing = (status: number, headers: Readonly<Record<string, string>> = {}): AnswerFault => ({
  kind: 'answer',
  status,
  headers,
  body: '<html>no</html>',
});

/** 429 as Slack says it. */
export const limiting = (retryAfter?: string): AnswerFault => ({
  kind: 'answer',
  status: 429,
  body: '{"ok":false,"error":"ratelimited"}',
  ...(retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter } }),
});

const readRequest = async (request: IncomingMessage): Promise<SlackRequestSeen> => {
  const { headers, method: verb = '', url = '' } = request;
  const contentType = headers['content-type'];
  const body = await text(request);
  return {
    method: /^\/api\/([A-Za-z.]+)$/.exec(url)?.[1] ?? url,
    verb,
    authorization: headers.authorization,
    contentType,
    form: Object.fromEntries(new URLSearchParams(body)),
  };
};

const send = (response: ServerResponse, status: number, body: string, headers: object = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers }).end(body);
};

const suffer = (fault: SlackFault, response: ServerResponse, answer: () => string): void => {
  switch (fault.kind) {
    case 'answer':
      send(response, fault.status, fault.body, fault.headers);
      return;
    case 'cut':
      response.destroy();
      return;
    case 'done_then_cut':
      answer();
      response.destroy();
      return;
    case 'done_with':
      send(response, fault.status, answer());
      return;
    case 'drip': {
      const whole = answer();
      response.writeHead(200, { 'content-type': 'application/json' }).write(whole.slice(0, whole.length / 2));
      return;
    }
    case 'half': {
      const whole = answer();
      send(response, 200, whole.slice(0, whole.length / 2));
      return;
    }
    case 'silent':
  }
};

/** Starts it with this workspace; it ends with its test. */
export const startSlackStandIn = async (workspace: SlackWorkspace): Promise<SlackStandIn> => {
  const requests: SlackRequestSeen[] = [];
  const faults: SlackFault[] = [];
  const server = createServer(async (request, response) => {
    const seen = await readRequest(request);
    requests.push(seen);
    const answer = (): string => JSON.stringify(answerSlackMethod(workspace, seen));
    const fault = faults.shift();
    if (fault === undefined) send(response, 200, answer());
    else suffer(fault, response, answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The stand-in has no port.');
  const origin = `http://127.0.0.1:${address.port}`;
  return { origin, workspace, requests, meet: (...next) => void faults.push(...next) };
};
