import { membersOf, parseJson, recordOf } from './json.ts';

/** What a call shows before its result, the newest last. */
export type Shown = { readonly progress: string; readonly parts: readonly string[] };

export const NOTHING_SHOWN: Shown = { progress: '', parts: [] };

// What a person reads while a call runs; of more the newest are shown, and of each its beginning.
const MOST_PARTS = 100;
const MOST_CHARACTERS = 2000;

/** The same with what one event of a stream adds; the same object where it adds nothing. */
export const addShown = (shown: Shown, event: StreamEvent): Shown => {
  const { any } = membersOf(event.data);
  if (event.name === 'part') return { ...shown, parts: [...shown.parts, toText(any('value'))].slice(-MOST_PARTS) };
  if (event.name !== 'progress') return shown;
  const { text, number } = membersOf(any('progress'));
  const [done, total] = [number('done'), number('total')];
  const counted = done === null ? '' : `${done}${total === null ? '' : ` of ${total}`}`;
  return { ...shown, progress: [counted, text('message')].filter((said) => said !== '').join(' · ') };
};

const toText = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text;
};

export type StreamEvent = { readonly name: string; readonly data: unknown };

/**
 * Reads a stream of newline-delimited JSON to its last event, tells `watch` of each event on the way, and gives the body that
 * it comes to, as JSON text: results as they were written. Rejects where it breaks before `done`.
 */
export const readAnswerStream = async (
  body: ReadableStream<Uint8Array>,
  watch: (event: StreamEvent) => void,
): Promise<string> => {
  const results: string[] = [];
  let end: string | null = null;
  // To its end, behind the last event as well: else the browser takes the request for one that still runs.
  for await (const line of linesOf(body)) {
    const { name, data, json } = toEvent(line);
    if (name === 'result') results.push(json);
    if (name === 'done') end = json;
    watch({ name, data });
  }
  if (end === null) throw new Error('The stream broke before its last event.');
  return `${end.slice(0, -1)},"results":[${results.join(',')}]}`;
};

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = `${text}${decoder.decode(value, { stream: true })}`.split('\n');
    text = lines.pop() ?? '';
    yield* lines;
  }
}

const DATA = '"data":';

/** `json`: its data as it was written. */
const toEvent = (line: string): StreamEvent & { readonly json: string } => {
  const parsed = parseJson(line);
  const { any, text } = membersOf(parsed.kind === 'value' ? recordOf(parsed.value) : {});
  // Name and id go before it, and neither has a quotation mark in it.
  return { name: text('event'), data: any('data'), json: line.slice(line.indexOf(DATA) + DATA.length, -1) };
};
