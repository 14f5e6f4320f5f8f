import type { CallToolResult, Client, ContentBlock } from '@modelcontextprotocol/client';
import { isRecord } from '../../contract/json-record.ts';
import { toSeconds } from '../../egress/response-status.ts';
import type { ToolContext } from '../../tools/tool.ts';
import { RetryableToolError, UpstreamToolError } from '../../tools/tool-errors.ts';
import { empty, ok } from '../../tools/tool-values.ts';
import {
  type CallFacts,
  type CallFailure,
  type ConnectionVerdict,
  toCallFailure,
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
  const { result } = answer;
  if (result.isError === true)
    throw toRefusal(
      textOf(result.content).trim() || `The tool failed without a message.`,
      facts,
      result.structuredContent,
    );
  return toCallValue(result, Math.floor(facts.maxResultBytes * DATA_SHARE));
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

const toNotConnected = (
  { reason, retryAfterMs, refusedStatus }: Extract<LinkState, { kind: 'down' }>,
  { server }: CallFacts,
): Error =>
  refusedStatus === null
    ? new UpstreamToolError(
        'upstream_unavailable',
        `The MCP server '${server}' is not connected: ${reason}. Try again in ${toSeconds(retryAfterMs)} or use another tool.`,
        { executed: 'no', retryAfterMs },
      )
    : toNeedsPerson(server, refusedStatus);

/** A part of an answer that is no text, as a model may be told of it. `data` is base64, where it was not too much. */
type Descriptor = {
  readonly type: 'image' | 'audio' | 'resource' | 'resource_link';
  readonly mimeType: string | null;
  readonly bytes: number | null;
  readonly uri: string | null;
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly text?: string;
  readonly data?: string;
};
type Part = { readonly type: 'text'; readonly text: string } | Descriptor;

/**
 * What a successful answer means: its structured content where there is one, with its parts that are no text as `content`
 * where it has none of its own; else its text, else all its parts in order. `maxDataBytes`: how much base64 is kept over all parts. Nothing in it is an empty success.
 */
const toCallValue = ({ structuredContent, content }: CallToolResult, maxDataBytes: number): unknown => {
  const parts = toParts(content, maxDataBytes);
  const others = parts.filter((part) => part.type !== 'text');
  if (structuredContent !== undefined)
    return others.length === 0 ? structuredContent : withParts(structuredContent, others);
  if (others.length > 0) return { content: parts };
  const text = textOf(content);
  return text === '' ? empty('The tool answered without content.') : text;
};

/** The texts of an answer, those of its resources too, a line break between two. */
const textOf = (content: readonly ContentBlock[]): string =>
  content
    .flatMap((part) => {
      if (part.type === 'text') return [part.text];
      return part.type === 'resource' && 'text' in part.resource ? [part.resource.text] : [];
    })
    .join('\n');

const withParts = (structured: unknown, others: readonly Part[]): unknown => {
  if (!isRecord(structured)) return ok(structured, toNote(others));
  if (!Object.hasOwn(structured, 'content')) return { ...structured, content: others };
  return isSaidTwice(structured['content'], others) ? structured : ok(structured, toNote(others));
};

// As the filesystem server does.
const isSaidTwice = (content: unknown, [first]: readonly Part[]): boolean =>
  Array.isArray(content) && content.some((part) => isRecord(part) && part['type'] === first?.type);

const toNote = (others: readonly Part[]): string => {
  const kinds = others.map((part) => (part.type === 'text' ? '' : `${part.type} ${part.mimeType ?? ''}`.trim()));
  return `The answer has further parts that are not shown: ${kinds.slice(0, 5).join(', ')}${kinds.length > 5 ? ', …' : ''}.`;
};

const toParts = (content: readonly ContentBlock[], maxDataBytes: number): readonly Part[] => {
  let left = maxDataBytes;
  const keep = (given: string): { readonly bytes: number; readonly data?: string } => {
    const data = toPlainBase64(given);
    const bytes = Math.floor((data.length * 3) / 4) - (/=*$/.exec(data.slice(-2))?.[0].length ?? 0);
    if (data.length > left) return { bytes };
    left -= data.length;
    return { bytes, data };
  };
  return content.map((part) => toPart(part, keep));
};

// Servers break its lines and leave out its end; what shows it takes neither.
const toPlainBase64 = (given: string): string => {
  const data = /\s/.test(given) ? given.replace(/\s+/g, '') : given;
  return data.length % 4 < 2 ? data : data.padEnd(data.length + 4 - (data.length % 4), '=');
};

type Keep = (data: string) => { readonly bytes: number; readonly data?: string };

const toPart = (part: ContentBlock, keep: Keep): Part => {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
    case 'audio':
      return { type: part.type, mimeType: part.mimeType, uri: null, ...keep(part.data) };
    case 'resource_link':
      return {
        type: 'resource_link',
        mimeType: part.mimeType ?? null,
        bytes: part.size ?? null,
        uri: part.uri,
        name: part.name,
        ...(part.title === undefined ? {} : { title: part.title }),
        ...(part.description === undefined ? {} : { description: part.description }),
      };
    case 'resource': {
      const { resource } = part;
      const about = { type: 'resource', mimeType: resource.mimeType ?? null, uri: resource.uri } as const;
      return 'text' in resource
        ? { ...about, bytes: Buffer.byteLength(resource.text), text: resource.text }
        : { ...about, ...keep(resource.blob) };
    }
  }
};
