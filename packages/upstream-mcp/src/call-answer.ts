import { showText } from '@recourse/toolkit-kit/egress/show-url';
import { countBase64Bytes, toPlainBase64 } from 'recourse-server/contract/base64';
import { isRecord, type JsonRecord, memberOf, textAt } from 'recourse-server/contract/json-record';
import { empty, ok } from 'recourse-server/tools/tool-values';

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
/** What is named of a block that cannot be read as what it says it is. */
type UnreadPart = { readonly type: 'unread'; readonly name: string };

type AnswerOptions = {
  /** How much base64 is kept over all parts. */
  readonly maxDataBytes: number;
  readonly needsInput: () => Error;
  /** For an answer by which the tool says that it failed. */
  readonly refused: (text: string, value: unknown) => Error;
};

/** `value`: undefined where there is none. `note`: what it does not show, '' where it shows all. */
type Reading = { readonly value: unknown; readonly note: string };

/**
 * What an answer to `tools/call` means, as far as it can be read; throws where it is a failure. Its structured content
 * where there is some, with its parts that are no text as `content` where it has none of its own; else its text, else all
 * its parts in order. What cannot be read is named. Nothing in it is an empty success.
 */
export const readCallAnswer = (answer: unknown, options: AnswerOptions): unknown => {
  const result = isRecord(answer) ? answer : {};
  if (result['resultType'] === 'input_required') throw options.needsInput();
  const read = toParts(toBlocks(memberOf(result, 'content')), options.maxDataBytes);
  const parts = read.filter((part) => part.type !== 'unread');
  // What is neither false nor left out does not say that it went well.
  if ((memberOf(result, 'isError') ?? false) !== false)
    throw options.refused(textOf(parts).trim() || 'The tool failed without a message.', structuredOf(result));
  const { value, note } = toReading(result, parts);
  const unread = read.flatMap((part) => (part.type === 'unread' ? [`'${part.name}'`] : []));
  const notes = [note, toNote('could not be read', unread)].filter((text) => text !== '').join(' ');
  if (value === undefined) return notes === '' ? empty('The tool answered without content.') : ok(null, notes);
  return notes === '' ? value : ok(value, notes);
};

/** Some programs write null for what they leave out. */
const structuredOf = (result: JsonRecord): unknown => memberOf(result, 'structuredContent') ?? undefined;

const toReading = (result: JsonRecord, parts: readonly Part[]): Reading => {
  const structured = structuredOf(result);
  const others = parts.filter((part) => part.type !== 'text');
  if (structured !== undefined) return others.length === 0 ? whole(structured) : withParts(structured, others);
  if (others.length > 0) return whole({ content: parts });
  const text = textOf(parts);
  return text === '' ? toOwnForm(result) : whole(text);
};

const whole = (value: unknown): Reading => ({ value, note: '' });

const ENVELOPE: ReadonlySet<string> = new Set(['content', 'structuredContent', 'isError', 'resultType', '_meta']);

/** Of a server that gives its value without the form of a tool result. */
const toOwnForm = (result: JsonRecord): Reading => {
  const own = Object.entries(result).filter(([name]) => !ENVELOPE.has(name));
  if (own.length === 0) return whole(undefined);
  return {
    value: Object.fromEntries(own),
    note: 'The answer is not in the form of a tool result: it is shown as it is.',
  };
};

/** The texts of an answer, those of its resources too, a line break between two. */
const textOf = (parts: readonly Part[]): string =>
  parts.flatMap((part) => (part.type === 'text' || part.type === 'resource' ? (part.text ?? []) : [])).join('\n');

const withParts = (structured: unknown, others: readonly Descriptor[]): Reading => {
  const note = toNote(
    'are not shown',
    others.map(({ type, mimeType }) => `${type} ${mimeType ?? ''}`.trim()),
  );
  if (!isRecord(structured)) return { value: structured, note };
  if (!Object.hasOwn(structured, 'content')) return whole({ ...structured, content: others });
  return isSaidTwice(structured['content'], others) ? whole(structured) : { value: structured, note };
};

// As the filesystem server does.
const isSaidTwice = (content: unknown, [first]: readonly Part[]): boolean =>
  Array.isArray(content) && content.some((part) => isRecord(part) && part['type'] === first?.type);

const MOST_NAMED = 5;

const toNote = (what: string, names: readonly string[]): string =>
  names.length === 0
    ? ''
    : `The answer has further parts that ${what}: ${names.slice(0, MOST_NAMED).join(', ')}${names.length > MOST_NAMED ? ', …' : ''}.`;

/** Some servers give one block, or a text, in the place of a list. */
const toBlocks = (content: unknown): readonly unknown[] => {
  if (Array.isArray(content)) return content;
  return content === undefined || content === null ? [] : [content];
};

const toParts = (blocks: readonly unknown[], maxDataBytes: number): readonly (Part | UnreadPart)[] => {
  let left = maxDataBytes;
  const keep = (given: string): { readonly bytes: number; readonly data?: string } => {
    // By the protocol it is base64: blanks anywhere mean nothing.
    const written = given.replace(/\s+/g, '');
    const data = toPlainBase64(written) ?? written;
    const bytes = countBase64Bytes(data);
    if (data.length > left) return { bytes };
    left -= data.length;
    return { bytes, data };
  };
  return blocks.flatMap((block): readonly (Part | UnreadPart)[] => {
    const part = toPart(block, keep);
    return part === null ? toUnread(block) : [part];
  });
};

const toUnread = (block: unknown): readonly (Part | UnreadPart)[] => {
  const record = isRecord(block) ? block : {};
  const text = textAt(record, 'text');
  const unread: UnreadPart = { type: 'unread', name: showText(textAt(record, 'type') ?? 'without a type') };
  return text === undefined ? [unread] : [{ type: 'text', text }, unread];
};

type Keep = (data: string) => { readonly bytes: number; readonly data?: string };

/** null: of a type that is not known, or without what its type must have. */
const toPart = (block: unknown, keep: Keep): Part | null => {
  if (typeof block === 'string') return { type: 'text', text: block };
  if (!isRecord(block)) return null;
  const { type } = block;
  if (type === 'text') return toTextPart(block['text']);
  if (type === 'image' || type === 'audio') {
    const data = memberOf(block, 'data');
    return typeof data === 'string' ? { type, mimeType: mimeTypeOf(block), uri: null, ...keep(data) } : null;
  }
  if (type === 'resource_link') return toLink(block);
  return type === 'resource' ? toResource(memberOf(block, 'resource'), keep) : null;
};

const toTextPart = (text: unknown): Part | null => {
  if (text === undefined || text === null) return null;
  return { type: 'text', text: typeof text === 'string' ? text : JSON.stringify(text) };
};

const mimeTypeOf = (block: JsonRecord): string | null => textAt(block, 'mimeType') ?? null;

const toLink = (block: JsonRecord): Part | null => {
  const uri = textAt(block, 'uri');
  if (uri === undefined) return null;
  const size = memberOf(block, 'size');
  const words = ['name', 'title', 'description'].map((word) => [word, textAt(block, word)] as const);
  return {
    type: 'resource_link',
    mimeType: mimeTypeOf(block),
    bytes: typeof size === 'number' ? size : null,
    uri,
    ...Object.fromEntries(words.filter(([, text]) => text !== undefined)),
  };
};

const toResource = (resource: unknown, keep: Keep): Part | null => {
  if (!isRecord(resource)) return null;
  const { text, blob } = resource;
  const about = { type: 'resource', mimeType: mimeTypeOf(resource), uri: textAt(resource, 'uri') ?? null } as const;
  if (typeof text === 'string') return { ...about, bytes: Buffer.byteLength(text), text };
  return typeof blob === 'string' ? { ...about, ...keep(blob) } : null;
};
