import { toHttpError } from './upstream-http-error.ts';

export type BodyCap = {
  /** Of one message: of the whole body, or of what an event stream sends between two blank lines. */
  readonly maxMessageBytes: number;
  readonly form: 'whole' | 'events';
  /** Asked once a message is larger: what the stream ends with then; null = it ends with an error. */
  readonly onOversize: () => string | null;
};

const CARRIED_BYTES = 3;
const BLANK_LINES = ['\n\n', '\r\n\r\n', '\r\r'];

/** A body as it comes, as long as no message in it is larger than the cap. */
export async function* capBody(body: AsyncIterable<unknown>, cap: BodyCap): AsyncGenerator<Uint8Array> {
  const measure = createMeasure(cap.form);
  for await (const part of body) {
    if (!(part instanceof Uint8Array)) continue;
    if (measure(part) > cap.maxMessageBytes) {
      yield Buffer.from(toLastWords(cap));
      return;
    }
    yield part;
  }
}

const toLastWords = ({ onOversize }: BodyCap): string => {
  const lastWords = onOversize();
  if (lastWords === null) throw toHttpError({ kind: 'too_large' });
  return lastWords;
};

/** How long the message is by now that a part belongs to the end of. */
const createMeasure = (form: BodyCap['form']): ((part: Uint8Array) => number) => {
  let length = 0;
  let carried: Uint8Array = Buffer.alloc(0);
  return (part) => {
    const chunk = Buffer.concat([carried, part]);
    const end = form === 'events' ? endOfLastEvent(chunk) : -1;
    length = end === -1 ? length + part.length : chunk.length - end;
    carried = Buffer.from(chunk.subarray(-CARRIED_BYTES));
    return length;
  };
};

/** Where the bytes after the last blank line begin; -1 where there is none. */
const endOfLastEvent = (chunk: Buffer): number =>
  Math.max(
    ...BLANK_LINES.map((blank) => {
      const at = chunk.lastIndexOf(blank);
      return at === -1 ? -1 : at + blank.length;
    }),
  );
