import type { Client } from '@modelcontextprotocol/client';
import { toSeconds } from '@recourse/toolkit-kit/egress/response-status';
import { readShortage } from 'recourse-server/tools/resource-shortage';
import type { ToolContext } from 'recourse-server/tools/tool';
import { RetryableToolError, UpstreamToolError } from 'recourse-server/tools/tool-errors';
import { readCallAnswer } from './call-answer.ts';
import {
  type CallFacts,
  type CallFailure,
  type ConnectionVerdict,
  toCallFailure,
  toNeedsInput,
  toNeedsPerson,
  toRefusal,
} from './call-failure.ts';
import type { ListedTool } from './tool-list.ts';

/** How the connection stands at this moment. */
export type LinkState =
  | { readonly kind: 'up'; readonly client: Client }
  | {
      readonly kind: 'down';
      readonly reason: string;
      readonly retryAfterMs: number;
      /** The status with which the server refuses our credentials, where that is why. */
      readonly refusedStatus: number | null;
    };

/** What a call needs of its upstream. */
export type Link = {
  readonly state: () => LinkState;
  readonly callStarted: () => void;
  readonly callEnded: (client: Client, verdict: ConnectionVerdict) => void;
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
  input: Readonly<Record<string, unknown>>,
  { context, link, ...declared }: { readonly context: ToolContext; readonly link: Link; readonly facts: CallFacts },
): Promise<unknown> => {
  // As they hold for this call: the operator may have said otherwise since the list was read.
  const facts = { ...declared.facts, effects: context.effects };
  const state = link.state();
  if (state.kind === 'down') throw toNotConnected(state, facts);
  const { client } = state;
  link.callStarted();
  const answer = await client
    .callTool(
      { name, arguments: { ...input }, _meta: toMeta(context) },
      {
        toolDefinition: { name, inputSchema: { ...inputSchema, type: 'object' } },
        signal: context.signal,
        timeout: NO_TIMEOUT_MS,
        onprogress: ({ progress, total, message }) => context.progress({ progress, total, message }),
      },
    )
    .then(
      (result) => ({ result }),
      (error: unknown) => ({ failure: toCallFailure(error, facts), error }),
    );
  if ('failure' in answer) {
    link.callEnded(client, context.signal.aborted ? 'unanswered' : answer.failure.connection);
    return failWith(answer, { name, link, facts });
  }
  link.callEnded(client, 'works');
  return readCallAnswer(answer.result['answer'], {
    maxDataBytes: Math.floor(facts.maxResultBytes * DATA_SHARE),
    needsInput: () => toNeedsInput(facts.server),
    refused: (text, value) => toRefusal(text, facts, value),
  });
};

const failWith = async (
  { failure, error }: { readonly failure: CallFailure; readonly error: unknown },
  { name, link, facts }: { readonly name: string; readonly link: Link; readonly facts: CallFacts },
): Promise<string> => {
  // A text of this length is what the executor takes for too large, by its own rule and with its own code.
  if (failure.error === null) return ' '.repeat(facts.maxResultBytes + 1);
  if (isInvalidParams(error) && !(await link.stillHas(name)))
    throw new RetryableToolError(
      `The MCP server '${facts.server}' no longer has the tool '${name}'. The list of tools was reloaded: use one of the tools available now.`,
    );
  throw failure.error;
};

const INVALID_PARAMS = -32_602;
const isInvalidParams = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === INVALID_PARAMS;

const toMeta = ({ traceparent, idempotencyKey }: ToolContext) => ({
  ...(traceparent === null ? {} : { traceparent }),
  ...(idempotencyKey === null ? {} : { [IDEMPOTENCY_KEY_META]: idempotencyKey }),
});

// In our words. What a server itself writes before it ends may name a shortage, too, and is not believed.
const NOT_STARTED = /^its process could not be started/;

const toNotConnected = (
  { reason, retryAfterMs, refusedStatus }: Extract<LinkState, { kind: 'down' }>,
  { server }: CallFacts,
): Error =>
  refusedStatus === null
    ? new UpstreamToolError(
        'upstream_unavailable',
        `The MCP server '${server}' is not connected: ${reason}. Try again in ${toSeconds(retryAfterMs)} or use another tool.`,
        { executed: 'no', retryAfterMs, cause: NOT_STARTED.test(reason) ? readShortage(reason) : undefined },
      )
    : toNeedsPerson(server, refusedStatus);
