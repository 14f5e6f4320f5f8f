// The client of the Tasks extension, which checks each answer by the extension's schemas.
import {
  type ApplicationInputCallbacks,
  createApplicationInputHandler,
  createTaskSessionFromClient,
  type RawClientDispatch,
  type TaskEnabledSession,
} from '@modelcontextprotocol/ext-tasks/client';
import { isJsonValue } from '@modelcontextprotocol/ext-tasks/core';
import { connect, post } from '@recourse/test-support/mcp-clients.ts';
import { onTestFinished } from 'vitest';

type Headers = Readonly<Record<string, string>>;

/** Posts what the client of the extension gives it, as its transport would: the SDK's own knows no tasks of this revision. */
const toDispatch =
  (url: string, headers: Headers): RawClientDispatch =>
  async (request) => {
    const { method, params } = { method: '', params: {}, ...Object(request) };
    const name: unknown = Reflect.get(Object(params), 'taskId') ?? Reflect.get(Object(params), 'name');
    const named = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': String(name) };
    const { messages } = await post(url, { jsonrpc: '2.0', id: 1, ...Object(request) }, { ...headers, ...named });
    const { result, error } = { result: null, error: undefined, ...messages[0] };
    if (error !== undefined) return { kind: 'error', error: { code: 0, message: '', ...Object(error) } };
    if (!isJsonValue(result)) throw new Error('The answer is no JSON.');
    return { kind: 'result', result };
  };

type SetUp = {
  readonly capabilities?: object;
  /** Answers what the server asks the user. */
  readonly elicitation?: ApplicationInputCallbacks['elicitation'];
};

const refuse = (): never => {
  throw new Error('The server asks for what no test has.');
};

/** Closed when the test ends. */
export const openTaskSession = async (
  url: string,
  headers: Headers = {},
  { capabilities = {}, elicitation = refuse }: SetUp = {},
): Promise<TaskEnabledSession> => {
  const { client } = await connect(url, 'modern', headers);
  const session = createTaskSessionFromClient(client, {
    onInputRequest: createApplicationInputHandler({ elicitation, sampling: refuse, roots: refuse }),
    endpointId: url,
    rawDispatch: toDispatch(url, headers),
    v2RequestFraming: {
      protocolVersion: '2026-07-28',
      clientInfo: { name: 'test', version: '1' },
      clientCapabilities: { ...capabilities },
    },
  });
  onTestFinished(() => session.close());
  return session;
};
