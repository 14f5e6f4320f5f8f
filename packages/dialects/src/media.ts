import { countBase64Bytes, toPlainBase64 } from 'recourse-server/contract/base64';
import { isArray, isRecord, type JsonRecord, listAt, memberOf } from 'recourse-server/contract/json-record';

/** A picture, a sound or a file in a tool's value: docs/formats.md says how a tool writes one. */
export type Media = {
  readonly kind: 'image' | 'audio' | 'resource';
  /** "" where nobody said. */
  readonly mimeType: string;
  /** Base64 (RFC 4648, section 4); null where there was too much of it to keep. */
  readonly data: string | null;
  readonly bytes: number;
  readonly uri: string | null;
};

/** A text that has an address of its own, as MCP's text resources: models read it as any text, `/mcp` passes it on whole. */
export type TextResource = {
  readonly text: string;
  /** "" where nobody said. */
  readonly mimeType: string;
  readonly uri: string;
};

/** Where something is that a tool does not show itself, as MCP's links to resources. */
export type Link = {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
};

/** A piece of what a tool has to say or to show. `text` of a link: all that is known of it, as JSON. */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'resource'; readonly resource: TextResource }
  | { readonly kind: 'link'; readonly link: Link; readonly text: string }
  | { readonly kind: 'media'; readonly media: Media };

export const toTextPart = (text: string): Part => ({ kind: 'text', text });

/** Whether a JSON text may hold media or text resources, before it is parsed. */
export const mayContainMarkedMedia = (json: string): boolean => json.includes(MARK_END) && json.includes(MARK);

const MARK = '"mimeType":';
// First, for V8 looks for six characters forty times as fast as for seven.
const MARK_END = 'Type":';

/**
 * What a value says and shows, in its order; null where neither media, text resources nor links are in it, down to
 * `MOST_LEVELS`.
 */
export const readParts = (value: unknown): readonly Part[] | null => {
  if (!mayContainMedia(value)) return null;
  const parts = readValueParts(value);
  return parts.some(isShown) ? parts : null;
};

const isShown = ({ kind }: Part): boolean => kind !== 'text';

// What is looked through recursively; a medium that lies deeper stays JSON.
const MOST_LEVELS = 16;

// Most values hold none, and nothing is written for them.
const mayContainMedia = (value: unknown, level = 0): boolean => {
  if (level > MOST_LEVELS || !(isArray(value) || isRecord(value))) return false;
  return mayBeMedia(value) || Object.values(value).some((inner) => mayContainMedia(inner, level + 1));
};

const mayBeMedia = (value: unknown): boolean => {
  const type = memberOf(value, 'type');
  return (isKind(type) || type === LINK) && hasType(value);
};

const LINK = 'resource_link';

const isKind = (type: unknown): type is Media['kind'] => type === 'image' || type === 'audio' || type === 'resource';

const hasType = (value: unknown): boolean => {
  const mimeType = memberOf(value, 'mimeType');
  return mimeType === null || typeof mimeType === 'string';
};

const readValueParts = (value: unknown): readonly Part[] => {
  if (isArray(value)) return value.flatMap(readItemParts);
  if (!isRecord(value)) return [];
  const whole = readShownPart(value);
  return whole === null ? readMemberParts(value) : [whole];
};

const readMemberParts = (value: JsonRecord): readonly Part[] => {
  const items = listAt(value, 'content').flatMap(readItemParts);
  const content = items.some(isShown) ? items : [];
  const rest = Object.entries(value).filter(([key]) => key !== 'content' || content.length === 0);
  return [...(rest.length === 0 ? [] : nameMedia(Object.fromEntries(rest))), ...content];
};

const readItemParts = (item: unknown): readonly Part[] => {
  const shown = readShownPart(item) ?? readLinkPart(item);
  if (shown !== null) return [shown];
  const text = memberOf(item, 'type') === 'text' ? memberOf(item, 'text') : item;
  return typeof text === 'string' ? [toTextPart(text)] : nameMedia(item);
};

/** A value as JSON that names each medium in it, and the media behind it. */
const nameMedia = (value: unknown): readonly Part[] => {
  const shown: ShownPart[] = [];
  const named = nameShown(value, shown, 0);
  return [toTextPart(JSON.stringify(named) ?? ''), ...shown];
};

const nameShown = (value: unknown, shown: ShownPart[], level: number): unknown => {
  if (!mayContainMedia(value, level)) return value;
  if (isArray(value)) return value.map((item) => nameShown(item, shown, level + 1));
  const part = readShownPart(value);
  if (part !== null) {
    shown.push(part);
    return describePart(part);
  }
  const members = Object.entries(Object(value)).map(([key, inner]) => [key, nameShown(inner, shown, level + 1)]);
  return Object.fromEntries(members);
};

type ShownPart = Exclude<Part, { readonly kind: 'text' | 'link' }>;

const readLinkPart = (value: unknown): Part | null => {
  const [uri, name] = [memberOf(value, 'uri'), memberOf(value, 'name')];
  if (memberOf(value, 'type') !== LINK || typeof uri !== 'string' || typeof name !== 'string') return null;
  const texts = ['title', 'description', 'mimeType'].map((key) => [key, memberOf(value, key)] as const);
  const size = memberOf(value, 'bytes');
  const link = {
    uri,
    name,
    ...Object.fromEntries(texts.filter(([, text]) => typeof text === 'string')),
    ...(typeof size === 'number' ? { size } : {}),
  };
  return { kind: 'link', link, text: JSON.stringify(value) };
};

const readShownPart = (value: unknown): ShownPart | null => {
  const resource = readTextResource(value);
  if (resource !== null) return { kind: 'resource', resource };
  const media = readMedia(value);
  return media === null ? null : { kind: 'media', media };
};

const readTextResource = (value: unknown): TextResource | null => {
  const text = memberOf(value, 'text');
  const uri = memberOf(value, 'uri');
  if (memberOf(value, 'type') !== 'resource' || typeof text !== 'string' || typeof uri !== 'string') return null;
  const mimeType = memberOf(value, 'mimeType');
  return hasType(value) ? { text, mimeType: typeof mimeType === 'string' ? mimeType : '', uri } : null;
};

const readMedia = (value: unknown): Media | null => {
  const kind = memberOf(value, 'type');
  if (!isKind(kind) || !hasType(value)) return null;
  const data = memberOf(value, 'data');
  const mimeType = memberOf(value, 'mimeType');
  const uri = memberOf(value, 'uri');
  const about = {
    kind,
    mimeType: typeof mimeType === 'string' ? mimeType : '',
    uri: typeof uri === 'string' ? uri : null,
  } as const;
  const base64 = typeof data === 'string' ? toPlainBase64(data) : null;
  if (base64 !== null) return { ...about, data: base64, bytes: countBase64Bytes(base64) };
  const bytes = memberOf(value, 'bytes');
  const isLeftOut = data === undefined && kind !== 'resource' && typeof bytes === 'number' && about.mimeType !== '';
  return isLeftOut ? { ...about, data: null, bytes } : null;
};

const MIME_TYPE = /^[a-z]+\/[\w.+-]{1,80}$/i;

/** "image/png, 4033 bytes". */
const describeMedia = ({ kind, mimeType, bytes }: Media): string =>
  `${MIME_TYPE.test(mimeType) ? mimeType : kind}, ${bytes} bytes`;

const describePart = (part: ShownPart): string =>
  part.kind === 'media'
    ? describeMedia(part.media)
    : `${MIME_TYPE.test(part.resource.mimeType) ? part.resource.mimeType : 'resource'}, below`;

const describeHidden = (media: Media): string => `${describeMedia(media)}, not shown here`;

/** All of it as text, for whom media cannot be shown. */
export const describeParts = (parts: readonly Part[]): string => parts.map(describePartAsText).join('\n');

const describePartAsText = (part: Part): string => {
  if (part.kind === 'text' || part.kind === 'link') return part.text;
  return part.kind === 'resource' ? part.resource.text : describeHidden(part.media);
};

type BlockWriter<Block> = {
  /** Never asked for a blank text. */
  readonly text: (text: string) => Block;
  /** null: it cannot be shown, and is told of as text. */
  readonly media: (media: Media) => Block | null;
  /** Left out where a text resource is a text like any other. */
  readonly resource?: (resource: TextResource) => Block;
  /** Left out where a link is told of as text. */
  readonly link?: ((link: Link) => Block) | undefined;
};

/** Texts and media as a provider writes them, in their order; null where nothing but texts can be shown. */
export const writeBlocks = <Block>(parts: readonly Part[], write: BlockWriter<Block>): Block[] | null => {
  const blocks: Block[] = [];
  let texts: string[] = [];
  let shown = 0;
  const endText = (): void => {
    const text = texts.join('\n');
    if (text.trim() !== '') blocks.push(write.text(text));
    texts = [];
  };
  for (const part of parts) {
    const block = writeBlock(part, write);
    if (block === null) {
      texts.push(describePartAsText(part));
      continue;
    }
    endText();
    blocks.push(block);
    shown += 1;
  }
  endText();
  return shown === 0 ? null : blocks;
};

const writeBlock = <Block>(part: Part, write: BlockWriter<Block>): Block | null => {
  if (part.kind === 'media') return write.media(part.media);
  if (part.kind === 'resource') return write.resource?.(part.resource) ?? null;
  return part.kind === 'link' ? (write.link?.(part.link) ?? null) : null;
};

/** The kinds of images that models look at. */
export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';

export type Image = { readonly mimeType: ImageType; readonly data: string; readonly bytes: number };

type ImageWriter<Block> = {
  readonly text: (text: string) => Block;
  readonly image: (image: Image) => Block;
};

// In base64. A provider refuses the whole request over an image that is not what it is said to be, or no image at all.
const SIGNATURES = [
  ['image/png', /^iVBORw0KGgo/],
  ['image/jpeg', /^\/9j\//],
  ['image/gif', /^R0lGODdh|^R0lGODlh/],
  // RIFF, a length, WEBP.
  ['image/webp', /^UklGR.{6}XRUJQ/],
] as const;

// Anthropic takes no larger image, and no provider fewer of them in one request.
const MAX_BASE64_LENGTH = 5_242_880;
const MAX_IMAGES = 20;

/**
 * An answer's texts, and those of its media that are images of these types by their first bytes, in their order; at most
 * 20 images. null where there is no such image.
 */
export const writeImageBlocks = <Block>(
  parts: readonly Part[],
  types: readonly ImageType[],
  write: ImageWriter<Block>,
): Block[] | null => {
  let written = 0;
  return writeBlocks(parts, {
    text: write.text,
    media: (media) => {
      const image = findImage(media);
      if (image === null || !types.includes(image.mimeType) || written >= MAX_IMAGES) return null;
      written += 1;
      return write.image(image);
    },
  });
};

const findImage = ({ kind, data, bytes }: Media): Image | null => {
  if (kind === 'audio' || data === null || data.length > MAX_BASE64_LENGTH) return null;
  const found = SIGNATURES.find(([, signature]) => signature.test(data));
  return found === undefined ? null : { mimeType: found[0], data, bytes };
};
