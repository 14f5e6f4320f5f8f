import * as z from 'zod';
import { ToolCallsResponse } from '#src/contract/tool-result.ts';
import { toCallId, toSessionId, toTexts } from './bodies.ts';
import { toChatCallId, toToolUseId } from './formats/provider-messages.ts';
import { type Form, toMessage } from './forms.ts';
import type { LoadMessage } from './load-message.ts';

/** What an answer says of one call. */
type Told = { readonly id: string | null; readonly text: string };

const AnthropicMessages = z.tuple([
  z.strictObject({
    role: z.literal('user'),
    content: z.array(z.strictObject({ type: z.literal('tool_result'), tool_use_id: z.string(), content: z.string() })),
  }),
]);
const ChatMessages = z.array(
  z.strictObject({ role: z.literal('tool'), tool_call_id: z.string(), content: z.string() }),
);
const McpAnswer = z.object({
  result: z.object({
    content: z.tuple([z.object({ type: z.literal('text'), text: z.string() })]),
    structuredContent: z.object({ text: z.string() }),
    isError: z.literal(false).optional(),
  }),
});
const WithMessages = z.looseObject({ messages: z.unknown() });

const readAnthropic = (messages: unknown): readonly Told[] =>
  AnthropicMessages.parse(messages)[0].content.map((block) => ({ id: block.tool_use_id, text: block.content }));

const readChat = (messages: unknown): readonly Told[] =>
  ChatMessages.parse(messages).map((message) => ({ id: message.tool_call_id, text: message.content }));

const readNative = (answer: unknown): readonly Told[] =>
  ToolCallsResponse.parse(answer).results.map(({ id, success, value, warnings }) => {
    if (!success || warnings !== undefined) throw new Error('A call failed, or was warned of.');
    return { id: typeof id === 'string' ? id : null, text: JSON.stringify(value) };
  });

const readMcp = (answer: unknown): readonly Told[] => {
  const { content, structuredContent } = McpAnswer.parse(answer).result;
  if (content[0].text !== JSON.stringify(structuredContent)) throw new Error('Text and structured content differ.');
  return [{ id: null, text: content[0].text }];
};

type Reader = { readonly read: (answer: unknown) => readonly Told[]; readonly toId: (index: number) => string | null };

const noId = (): null => null;
/** Of an answer with results and messages both are read. */
const readBoth =
  (read: Reader['read']): Reader['read'] =>
  (answer) => {
    const told = read(WithMessages.parse(answer).messages);
    if (readNative(answer).length !== told.length) throw new Error('There are not as many results as messages.');
    return told;
  };

const READERS = {
  native: { read: readNative, toId: toCallId },
  anthropic_named: { read: readAnthropic, toId: toToolUseId },
  anthropic_detected: { read: readAnthropic, toId: toToolUseId },
  anthropic_and_results: { read: readBoth(readAnthropic), toId: toToolUseId },
  chat_detected: { read: readChat, toId: toChatCallId },
  chat_and_results: { read: readBoth(readChat), toId: toChatCallId },
  mcp_modern: { read: readMcp, toId: noId },
  mcp_session: { read: readMcp, toId: noId },
} as const satisfies Record<Form, Reader>;

/** Sends a message to a server, whatever path its url has; throws unless it is answered with 200. */
export const postMessage = async (
  url: string,
  { path, headers, body }: LoadMessage,
): Promise<{ readonly headers: Headers; readonly text: string }> => {
  const target = new URL(path, url);
  const answer = await fetch(target, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${target.href} answered ${answer.status}: ${text.slice(0, 500)}`);
  return { headers: answer.headers, text };
};

// Beyond all that a load uses, and beyond what other checks use.
let nextSession = 2_000_000;

/** Posts one batch of `echo` in this form; throws unless each call is answered in order, with the text that was sent. */
export const checkForm = async (
  url: string,
  form: Form,
  calls: number,
  session: string | null = null,
): Promise<void> => {
  nextSession += 1;
  const sent = {
    kind: 'succeeding',
    session: session ?? toSessionId(nextSession),
    texts: toTexts(calls),
  } as const;
  const message = toMessage(form, sent);
  const { text } = await postMessage(url, message);
  const { read, toId } = READERS[form];
  const expected = sent.texts.map(
    (sentText, index): Told => ({ id: toId(index), text: JSON.stringify({ text: sentText }) }),
  );
  const told = read(JSON.parse(toJson(text)));
  if (JSON.stringify(told) !== JSON.stringify(expected))
    throw new Error(`${url} should answer ${form} with what it was sent, not with: ${text.slice(0, 500)}`);
};

// MCP's older revisions answer with one event.
const toJson = (text: string): string => (/^(?:event|id|data): /.test(text) ? eventData(text) : text);

const eventData = (text: string): string => {
  const lines = text.match(/(?<=^data: )\{.*$/gm) ?? [];
  if (lines.length !== 1) throw new Error(`There should be one event with data, not ${lines.length}.`);
  return lines[0] ?? '';
};
