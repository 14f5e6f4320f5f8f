import * as z from 'zod';
import { SessionId } from './session.ts';

/** Hard ceiling of `calls`; beyond it the envelope is refused. Fewer are run: see MAX_BATCH_CALLS. */
export const MAX_ENVELOPE_CALLS = 1024;

/** The longest id of a call, in bytes of UTF-8. Gateways hide their state in ids, and some kilobytes of it. */
export const MAX_ID_BYTES = 16_384;

/** The longest name of a call, in characters (code points), as `maxLength` counts them. */
export const MAX_NAME_LENGTH = 512;

/** What a well-formed entry of `calls` looks like. For the document only: entries are judged one by one, never here. */
export const ToolCall = z
  .looseObject({
    id: z
      .union([z.string(), z.number(), z.null()])
      .optional()
      .describe(
        'A string of up to 16 KiB (16,384 bytes of UTF-8) or a number is echoed unchanged; a number beyond 2^53-1 and anything else becomes null. A call with a longer string does not run: `invalid_call`, with the id null.',
      ),
    name: z
      .string()
      .min(1)
      .max(MAX_NAME_LENGTH)
      .describe(
        'The name of the tool. A call with a longer name is `invalid_call`, and its result shows the name cut.',
      ),
    arguments: z
      .union([z.record(z.string(), z.unknown()), z.string(), z.null()])
      .optional()
      .describe('An object, or a JSON string holding one. "", blank, null, [] or absent mean {}.'),
    timeout_ms: z.number().positive().optional().describe("Milliseconds; may only shorten the tool's own limit."),
  })
  .meta({ id: 'ToolCall' });

/** The envelope of POST /tool-calls. Strict on its own members, deaf to unknown ones, and it never looks into a call. */
export const ToolCallsRequest = z.looseObject({
  session_id: SessionId.nullish().describe(
    'Budgets are counted per session; without one they apply to this request only.',
  ),
  round_id: z
    .string()
    .regex(/^[\x20-\x7e]{1,64}$/, 'must be 1 to 64 printable ASCII characters')
    .nullish()
    .describe('Batches of a session with one round_id are one round of the retry budget.'),
  calls: z.array(z.unknown()).max(MAX_ENVELOPE_CALLS),
  order: z.enum(['parallel', 'sequential']).default('parallel'),
  on_error: z
    .enum(['continue', 'stop'])
    .default('continue')
    .describe('With "sequential": "stop" answers the rest with not_executed.'),
  deadline_ms: z
    .number()
    .positive()
    .nullish()
    .describe('Milliseconds for the whole batch, clamped to MAX_DEADLINE_MS.'),
  wait_ms: z
    .number()
    .nonnegative()
    .nullish()
    .describe(
      'Milliseconds to wait for results; calls that have not ended then are answered as pending (202) and go on. As `Prefer: respond-async, wait=…`.',
    ),
  idempotency: z
    .enum(['call_id'])
    .nullish()
    .describe(
      'With "call_id" the id of each call that writes is its key in the session: sent again it runs no second time. Not together with an Idempotency-Key.',
    ),
  dry_run: z
    .boolean()
    .nullish()
    .describe(
      'true: nothing runs, is kept or counted. Each result says what its call would do now. Not with a streamed answer, `wait_ms` or `Prefer: respond-async`.',
    ),
  notify: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be the name of a webhook endpoint')
    .nullish()
    .describe('The webhook endpoint, by its name in the configuration, that hears of pending calls.'),
});
export type ToolCallsRequest = z.infer<typeof ToolCallsRequest>;

/**
 * Ids are echoed, so that the caller finds its call again; anything but a text or a number becomes null. So does a
 * number that lost digits in parsing: it could be the id of another call; and a text that is too long.
 */
export const readCallId = (id: unknown): string | number | null => {
  if (typeof id === 'string') return isLongId(id) ? null : id;
  return typeof id === 'number' && isEchoable(id) ? id : null;
};

/** Whether an id is longer than any that is echoed. */
export const isLongId = (id: unknown): boolean =>
  typeof id === 'string' && id.length > MAX_ID_BYTES / BYTES_A_PLACE && Buffer.byteLength(id) > MAX_ID_BYTES;

// At most so many bytes of UTF-8 stand for one place of a string.
const BYTES_A_PLACE = 3;

/** The name of a call as it is shown: one that is too long is cut; null where it is no text. */
export const readCallName = (name: unknown): string | null => {
  if (typeof name !== 'string') return null;
  return firstCharacters(name, MAX_NAME_LENGTH) === name ? name : `${firstCharacters(name, MAX_NAME_LENGTH - 1)}…`;
};

/** The first so many characters (code points) of a text. */
export const firstCharacters = (text: string, most: number): string => {
  if (text.length <= most) return text;
  let end = 0;
  for (let count = 0; count < most && end < text.length; count += 1)
    end += (text.codePointAt(end) ?? 0) > LAST_OF_ONE_PLACE ? 2 : 1;
  return text.slice(0, end);
};

// What is beyond takes two places of a string.
const LAST_OF_ONE_PLACE = 0xffff;

const isEchoable = (id: number): boolean => Number.isSafeInteger(id) || (Number.isFinite(id) && !Number.isInteger(id));
