import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { empty, ok } from '../tool-values.ts';

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
export const toCallValue = ({ structuredContent, content }: CallToolResult, maxDataBytes: number): unknown => {
  const parts = toParts(content, maxDataBytes);
  const others = parts.filter((part) => part.type !== 'text');
  if (structuredContent !== undefined)
    return others.length === 0 ? structuredContent : withParts(structuredContent, others);
  if (others.length > 0) return { content: parts };
  const text = textOf(content);
  return text === '' ? empty('The tool has answered, without any content.') : text;
};

/** The texts of an answer, those of its resources too, a line break between two. */
export const textOf = (content: readonly ContentBlock[]): string =>
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

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

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
