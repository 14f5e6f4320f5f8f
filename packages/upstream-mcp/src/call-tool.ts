import type { Client } from '@modelcontextprotocol/client';
import { toSeconds } from '@recourse/toolkit-kit/egress/response-status';
import type { JsonRecord } from 'recourse-server/contract/json-record';
import { readShortage } from 'recourse-server/tools/resource-shortage';
import type { ToolContext } from 'recourse-server/tools/tool';
import { RetryableToolError, UpstreamToolError } from 'recourse-server/tools/tool-errors';
import { readCallAnswer } from './call-answer.ts';
import {
  type CallFacts,
  type CallFailure,
  createNeedsInput,
  createNeedsPerson,
  createRefusal,
  explainFailure,
  INVALID_PARAMS,
} from './call-failure.ts';
import type { ListedTool } from './tool-list.ts';
import type { ConnectFailure } from './trouble.ts';

/** What a call needs of its upstream. */
export type Link = {
  /** The client in use, or why there is none and when to try again. */
  readonly state: () => { readonly client: Client } | (ConnectFailure & { readonly retryAfterMs: number });
  readonly callStarted: () => void;
  /** What the end of a call says of the connection. `given_up`: nothing. */
  readonly callEnded: (client: Client, verdict: CallFailure['connection'] | 'given_up') => void;
  /** Whether the server has a tool of that name, by its list as it is now. */
  readonly stillHas: (name: string) => Promise<boolean>;
};

// The call's own deadline ends it. The SDK's would be a second one, and a third beside the server's.
const NO_TIMEOUT_MS = 2_147_483_647;
const IDEMPOTENCY_KEY_META = 'recourse/idempotency_key';
// The rest is for the text around it.
const DATA_SHARE = 0.5;

/**
 * Calls a tool of an MCP server: `tools/call` is sent once, whatever comes of it. Rejects with what the model should read.
 * `toolDefinition` is given so that the SDK neither asks for the list again nor sends the call a second time.
 */
export const callTool = async (
  { name, inputSchema }: ListedTool,
  input: JsonRecord,
  { context, link, ...declared }: { readonly context: ToolContext; readonly link: Link; readonly facts: CallFacts },
): Promise<unknown> => {
  // As they hold for this call: the operator may have said otherwise since the list was read.
  const facts = { ...declared.facts, effects: context.effects };
  const state = link.state();
  if (!('client' in state)) throw explainNoConnection(state, facts.server);
  const { client } = state;
  const { signal } = context;
  link.callStarted();
  const answer = await client
    .callTool(
      { name, arguments: { ...input }, _meta: createMeta(context) },
      {
        toolDefinition: { name, inputSchema: { ...inputSchema, type: 'object' } },
        signal,
        timeout: NO_TIMEOUT_MS,
        onprogress: ({ progress, total, message }) => context.progress({ progress, total, message }),
      },
    )
    .then(
      (result) => ({ result }),
      (error: unknown) => ({ error, failure: explainFailure(error, facts) }),
    );
  if ('failure' in answer) {
    const { failure, error } = answer;
    link.callEnded(client, signal.aborted ? 'given_up' : failure.connection);
    // A text of this length is what the executor takes for too large, by its own rule and with its own code.
    if (failure.error === null) return ' '.repeat(facts.maxResultBytes + 1);
    const isGone = isInvalidParams(error) && !(await link.stillHas(name));
    throw isGone ? createToolGone(facts.server, name) : failure.error;
  }
  link.callEnded(client, 'works');
  return readCallAnswer(answer.result['answer'], {
    maxDataBytes: Math.floor(facts.maxResultBytes * DATA_SHARE),
    needsInput: () => createNeedsInput(facts.server),
    refused: (text, value) => createRefusal(text, facts, value),
  });
};

/** What is sent beside the arguments. */
const createMeta = ({ traceparent, idempotencyKey }: ToolContext) => ({
  ...(traceparent === null ? {} : { traceparent }),
  ...(idempotencyKey === null ? {} : { [IDEMPOTENCY_KEY_META]: idempotencyKey }),
});

const createToolGone = (server: string, name: string): RetryableToolError =>
  new RetryableToolError(
    `The MCP server '${server}' no longer has the tool '${name}'. The list of tools was reloaded: use one of the tools available now.`,
  );

const isInvalidParams = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === INVALID_PARAMS;

// In our words. What a server itself writes before it ends may name a shortage, too, and is not believed.
const NOT_STARTED = /^its process could not be started/;

const explainNoConnection = (
  { reason, retryAfterMs, refusedStatus }: ConnectFailure & { readonly retryAfterMs: number },
  server: string,
): Error => {
  if (refusedStatus !== null) return createNeedsPerson(server, refusedStatus);
  const text = `The MCP server '${server}' is not connected: ${reason}. Try again in ${toSeconds(retryAfterMs)} or use another tool.`;
  const cause = NOT_STARTED.test(reason) ? readShortage(reason) : undefined;
  return new UpstreamToolError('upstream_unavailable', text, { executed: 'no', retryAfterMs, cause });
};
