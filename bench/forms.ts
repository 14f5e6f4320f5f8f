import { type CallKind, toBody } from './bodies.ts';
import { toAnthropicMessage, toChatMessage } from './formats/provider-messages.ts';
import type { LoadMessage } from './load-message.ts';
import { toModernCall, toSessionCall } from './mcp/mcp-messages.ts';

/**
 * How a batch is written: as the service's own envelope; as the message of a provider's model, with its format named or
 * detected, answered with nothing but messages or with the results, too; as a request to an MCP server.
 */
export const FORMS = [
  'native',
  'anthropic_named',
  'anthropic_detected',
  'anthropic_and_results',
  'chat_detected',
  'chat_and_results',
  'mcp_modern',
  'mcp_session',
] as const;
export type Form = (typeof FORMS)[number];

export type WrittenTurn = {
  /** Anything but `succeeding` only where the form is `native`. */
  readonly kind: CallKind;
  readonly session: string | null;
  /** Of each call; one where the form is MCP's. */
  readonly texts: readonly string[];
  /** Of the batch; 0 = none. Only where the form is `native`. */
  readonly deadlineMs?: number;
};

const RAW = { raw: 'true' };

const WRITERS = {
  native: ({ kind, session, texts, deadlineMs }) => ({
    path: '/tool-calls',
    headers: {},
    body: toBody(kind, session, texts, deadlineMs),
  }),
  anthropic_named: (turn) => toPosted(toAnthropicMessage(turn), turn, { format: 'anthropic', ...RAW }),
  anthropic_detected: (turn) => toPosted(toAnthropicMessage(turn), turn, RAW),
  anthropic_and_results: (turn) => toPosted(toAnthropicMessage(turn), turn, {}),
  chat_detected: (turn) => toPosted(toChatMessage(turn), turn, RAW),
  chat_and_results: (turn) => toPosted(toChatMessage(turn), turn, {}),
  mcp_modern: ({ texts: [text = ''] }) => toModernCall(text),
  mcp_session: ({ session, texts: [text = ''] }) => toSessionCall(session, text),
} as const satisfies Record<Form, (turn: WrittenTurn) => LoadMessage>;

/** A batch as it goes over the wire. */
export const toMessage = (form: Form, turn: WrittenTurn): LoadMessage => WRITERS[form](turn);

// What a provider said is posted as it is: the session stands in the query.
const toPosted = (message: object, { session }: WrittenTurn, query: Readonly<Record<string, string>>): LoadMessage => ({
  path: `/tool-calls?${new URLSearchParams({ ...query, ...(session === null ? {} : { session_id: session }) })}`,
  headers: {},
  body: JSON.stringify(message),
});

const WARNINGS = '"warnings":[';
const IN_TEXT = ['Warning: ', 'ERROR: '];
const IN_MCP = [WARNINGS, '"isError":true', '"error":{'];

/** What an answer with status 200 must not have in it: nothing that is sent gives a reason for it. */
export const TROUBLES = {
  native: [WARNINGS],
  anthropic_named: IN_TEXT,
  anthropic_detected: IN_TEXT,
  anthropic_and_results: [WARNINGS],
  chat_detected: IN_TEXT,
  chat_and_results: [WARNINGS],
  mcp_modern: IN_MCP,
  mcp_session: IN_MCP,
} as const satisfies Record<Form, readonly string[]>;
