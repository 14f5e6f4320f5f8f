import { showText } from '@recourse/toolkit-kit/egress/show-url';
import { countBase64Bytes, toPlainBase64 } from 'recourse-server/contract/base64';
import { isRecord, type JsonRecord, memberOf, recordAt, textAt } from 'recourse-server/contract/json-record';
import { empty, ok } from 'recourse-server/tools/tool-values';

/**
 * A part of an answer, as a model may be told of it: a text, or a descriptor with `mimeType`, `bytes` and `uri` (null where
 * not known), and its `text`, or its `data` in base64 where it was not too much.
 */
type Part = { readonly type: string; readonly text?: string; readonly [member: string]: unknown };

type AnswerOptions = {
  /** How much base64 is kept over all parts. */
  readonly maxDataBytes: number;
  readonly needsInput: () => Error;
  /** For an answer by which the tool says that it failed. */
  readonly refused: (text: string, value: unknown) => Error;
};

/**
 * What an answer to `tools/call` means, as far as it can be read; throws where it is a failure. Its structured content
 * where there is some, with its parts that are no text as `content` where it has none of its own; else its text, else all
 * its parts in order. What cannot be read is named. Nothing in it is an empty success.
 */
export const readCallAnswer = (answer: unknown, options: AnswerOptions): unknown => {
  const result = pickRecord(answer);
  if (result['resultType'] === 'input_required') throw options.needsInput();
  const { parts, unread } = readBlocks(memberOf(result, 'content'), options.maxDataBytes);
  // Some programs write null for what they leave out.
  const structured = memberOf(result, 'structuredContent') ?? undefined;
  // What is neither false nor left out does not say that it went well.
  if ((memberOf(result, 'isError') ?? false) !== false)
    throw options.refused(joinTexts(parts).trim() || 'The tool failed without a message.', structured);
  const others = parts.filter(({ type }) => type !== 'text');
  const reading = structured === undefined ? readUnstructured(result, parts, others) : addParts(structured, others);
  return explainReading(reading, describeParts('could not be read', unread));
};

const explainReading = ({ value, note = '' }: Reading, unread: string): unknown => {
  const notes = [note, unread].filter((text) => text !== '').join(' ');
  if (notes !== '') return ok(value ?? null, notes);
  return value === undefined ? empty('The tool answered without content.') : value;
};

/** `value`: undefined where there is none. `note`: what it does not show. */
type Reading = { readonly value: unknown; readonly note?: string };

const ENVELOPE: ReadonlySet<string> = new Set(['content', 'structuredContent', 'isError', 'resultType', '_meta']);

const readUnstructured = (result: JsonRecord, parts: readonly Part[], others: readonly Part[]): Reading => {
  if (others.length > 0) return { value: { content: parts } };
  const text = joinTexts(parts);
  if (text !== '') return { value: text };
  // Of a server that gives its value without the form of a tool result.
  const own = Object.entries(result).filter(([name]) => !ENVELOPE.has(name));
  if (own.length === 0) return { value: undefined };
  return {
    value: Object.fromEntries(own),
    note: 'The answer is not in the form of a tool result: it is shown as it is.',
  };
};

/** The texts of an answer, those of its resources too, a line break between two. */
const joinTexts = (parts: readonly Part[]): string => parts.flatMap(({ text }) => text ?? []).join('\n');

const addParts = (structured: unknown, others: readonly Part[]): Reading => {
  const [first] = others;
  if (first === undefined) return { value: structured };
  const content = memberOf(structured, 'content');
  if (isRecord(structured) && !Object.hasOwn(structured, 'content'))
    return { value: { ...structured, content: others } };
  // Said twice, as the filesystem server does.
  if (Array.isArray(content) && content.some((part) => memberOf(part, 'type') === first.type))
    return { value: structured };
  const names = others.map(({ type, mimeType }) => `${type} ${mimeType ?? ''}`.trim());
  return { value: structured, note: describeParts('are not shown', names) };
};

const MOST_NAMED = 5;

const describeParts = (what: string, names: readonly string[]): string => {
  if (names.length === 0) return '';
  const shown = `${names.slice(0, MOST_NAMED).join(', ')}${names.length > MOST_NAMED ? ', …' : ''}`;
  return `The answer has further parts that ${what}: ${shown}.`;
};

/** The parts of the content, and the names of its blocks that cannot be read as what they say they are. */
const readBlocks = (content: unknown, maxDataBytes: number) => {
  const readData = createDataReader(maxDataBytes);
  const parts: Part[] = [];
  const unread: string[] = [];
  // Some servers give one block, or a text, in the place of a list.
  for (const block of [content ?? []].flat()) {
    const record = typeof block === 'string' ? { type: 'text', text: block } : pickRecord(block);
    const type = textAt(record, 'type') ?? 'without a type';
    const part = READERS.get(type)?.(record, readData) ?? null;
    parts.push(...(part === null ? readUnknown(record) : [{ type, ...part }]));
    if (part === null) unread.push(`'${showText(type)}'`);
  }
  return { parts, unread };
};

const pickRecord = (value: unknown): JsonRecord => (isRecord(value) ? value : {});

const readUnknown = (block: JsonRecord): readonly Part[] => {
  const text = textAt(block, 'text');
  return text === undefined ? [] : [{ type: 'text', text }];
};

type ReadData = (base64: string) => { readonly bytes: number; readonly data?: string };

const createDataReader = (maxBytes: number): ReadData => {
  let left = maxBytes;
  return (given) => {
    // By the protocol it is base64: blanks anywhere mean nothing.
    const written = given.replace(/\s+/g, '');
    const data = toPlainBase64(written) ?? written;
    const bytes = countBase64Bytes(data);
    if (data.length > left) return { bytes };
    left -= data.length;
    return { bytes, data };
  };
};

/** The members of a part beside its type; null without what its type must have. */
type ReadBlock = (block: JsonRecord, readData: ReadData) => Omit<Part, 'type'> | null;

const readMedia: ReadBlock = (block, readData) => {
  const data = memberOf(block, 'data');
  return typeof data === 'string'
    ? { mimeType: textAt(block, 'mimeType') ?? null, uri: null, ...readData(data) }
    : null;
};

const readLink: ReadBlock = (block) => {
  const [uri, size] = [textAt(block, 'uri'), memberOf(block, 'size')];
  if (uri === undefined) return null;
  const words = ['name', 'title', 'description'].map((word) => [word, textAt(block, word)] as const);
  return {
    mimeType: textAt(block, 'mimeType') ?? null,
    bytes: typeof size === 'number' ? size : null,
    uri,
    ...Object.fromEntries(words.filter(([, text]) => text !== undefined)),
  };
};

const readResource: ReadBlock = (block, readData) => {
  const resource = recordAt(block, 'resource');
  const { text, blob } = resource;
  const about = { mimeType: textAt(resource, 'mimeType') ?? null, uri: textAt(resource, 'uri') ?? null };
  if (typeof text === 'string') return { ...about, bytes: Buffer.byteLength(text), text };
  return typeof blob === 'string' ? { ...about, ...readData(blob) } : null;
};

const readText: ReadBlock = (block) => {
  const text = memberOf(block, 'text') ?? null;
  return text === null ? null : { text: typeof text === 'string' ? text : JSON.stringify(text) };
};

const READERS: ReadonlyMap<string, ReadBlock> = new Map([
  ['text', readText],
  ['image', readMedia],
  ['audio', readMedia],
  ['resource_link', readLink],
  ['resource', readResource],
]);
