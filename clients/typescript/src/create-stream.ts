import { type Complete, type ExecuteOptions, merge, type StreamInputOptions, toOutgoing } from './create-execute.ts';
import { type Answered, type Outgoing, type Send, toBadAnswer, toBrokenStream } from './create-send.ts';
import { isStreamEvent, isUnknownEvent, parseJson } from './read-body.ts';
import { readLines } from './read-lines.ts';
import type { StreamEvent, ToolCall } from './wire.ts';

/**
 * Has calls executed, and gives what happens as it happens: `accepted`, each `result` once, `progress` and `part` in between,
 * last `done`. Begins with the first event that is asked for; who stops asking ends the calls that may be ended. Throws a
 * RecourseError where the service did not take the calls, or the stream broke before `done`.
 */
export type Stream = ReturnType<typeof createStream>;

/** `defaults` are the options of every stream unless it says otherwise. `maxLineBytes`: of one event. */
export const createStream = (
  send: Send,
  defaults: ExecuteOptions & { readonly timeoutMs: number },
  maxLineBytes: number,
) => {
  function stream(calls: readonly ToolCall[], options?: ExecuteOptions): AsyncGenerator<StreamEvent, void, undefined>;
  /** `message` as the provider's API gave it; `done` has the messages that the conversation goes on with. */
  function stream(message: unknown, options: StreamInputOptions): AsyncGenerator<StreamEvent, void, undefined>;
  async function* stream(input: unknown, given: StreamInputOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    const options = merge(defaults, given);
    const outgoing = toStreamRequest(input, options);
    const answered = await send(outgoing);
    if (answered.body === null || !isNdjson(answered)) throw toBadAnswer(outgoing, answered);
    const lines = readLines(answered.body, maxLineBytes);
    const opened = { lines, outgoing, answered };
    try {
      let event: StreamEvent;
      do {
        event = await nextEvent(opened);
        yield event;
      } while (event.event !== 'done');
    } finally {
      await lines.return();
    }
  }
  return stream;
};

/** Without a key unless one was given: results that are kept are known only together, when the last call has ended. */
const toStreamRequest = (input: unknown, options: Complete) =>
  ({
    ...toOutgoing(input, options),
    idempotencyKey: options.idempotencyKey ?? null,
    headers: { accept: 'application/x-ndjson' },
    answer: 'stream',
  }) as const;

const isNdjson = ({ headers }: Answered): boolean =>
  headers.get('content-type')?.startsWith('application/x-ndjson') === true;

type Opened = {
  readonly lines: AsyncGenerator<string, void, undefined>;
  readonly outgoing: Outgoing;
  readonly answered: Answered;
};

/** The next event that this client knows: signs of life, and events of a later service, are left out. */
const nextEvent = async (opened: Opened): Promise<StreamEvent> => {
  for (;;) {
    const parsed = parseJson(await nextLine(opened));
    if (isStreamEvent(parsed)) return parsed;
    if (!isUnknownEvent(parsed)) throw toBadAnswer(opened.outgoing, opened.answered);
  }
};

/** What is thrown in place of a line becomes an error of this client, unless the caller's own signal did it. */
const nextLine = async ({ lines, outgoing, answered }: Opened): Promise<string> => {
  try {
    const { done, value } = await lines.next();
    if (done !== true) return value;
  } catch (cause) {
    outgoing.signal?.throwIfAborted();
    throw toBrokenStream(outgoing, answered, cause);
  }
  throw toBrokenStream(outgoing, answered, undefined);
};
