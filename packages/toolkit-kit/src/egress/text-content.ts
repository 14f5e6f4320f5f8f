const CHARSET = /(?:^|[;\s])charset\s*=\s*["']?([^\s;"']+)/i;

/** The media type in lower case and the charset of a Content-Type, `''` and undefined where it says nothing. */
const parseContentType = (contentType: string): { readonly media: string; readonly charset: string | undefined } => ({
  media: contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '',
  charset: CHARSET.exec(contentType)?.[1],
});

const TEXT_MEDIA =
  /^(text\/.+|.+\+(json|xml|yaml)|application\/(x-)?(json|json5|jsonl|ndjson|xml|xml-dtd|javascript|ecmascript|typescript|yaml|toml|sql|graphql|sh|www-form-urlencoded|csv|tex|latex))$/;
// What servers say of files they do not know: source code and logs as often as pictures.
const UNDECLARED_MEDIA: ReadonlySet<string> = new Set(['', 'application/octet-stream', 'binary/octet-stream']);
const SNIFFED_BYTES = 1_024;

const looksLikeText = (bytes: Uint8Array): boolean => !bytes.subarray(0, SNIFFED_BYTES).includes(0);

/**
 * The text of a body, or null where it is none. A byte order mark decides, then the charset of the Content-Type, then what
 * a page, XML or a style sheet says of itself at its beginning, then UTF-8; an unknown charset is read as UTF-8. A character
 * that `rest: 'cut'` left in half is dropped.
 * Sources: the Encoding Standard's decode; HTML, section 13.2.3.2; XML, section 4.3.3; CSS Syntax, section 3.2.
 */
export const toText = (bytes: Uint8Array, contentType: string, rest: 'complete' | 'cut'): string | null => {
  const { media, charset } = parseContentType(contentType);
  const isText = UNDECLARED_MEDIA.has(media) ? looksLikeText(bytes) : TEXT_MEDIA.test(media);
  if (!isText) return null;
  return createDecoder(markedCharset(bytes) ?? charset ?? declaredCharset(bytes, media) ?? 'utf-8').decode(bytes, {
    stream: rest === 'cut',
  });
};

const markedCharset = ([first, second, third]: Uint8Array): string | undefined => {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xff && second === 0xfe ? 'utf-16le' : undefined;
};

// Which texts name their encoding themselves, and where.
const DECLARATIONS: readonly (readonly [media: RegExp, find: (head: string) => string | undefined])[] = [
  [/\bx?html\b|^$/, (head) => xmlCharset(head) ?? metaCharset(head.replace(/<!--[\s\S]*?(?:-->|$)/g, ''))],
  [/\bxml$/, (head) => xmlCharset(head)],
  [/^text\/css$/, (head) => /^@charset "([^"]+)";/.exec(head)?.[1]],
];

const declaredCharset = (bytes: Uint8Array, media: string): string | undefined => {
  const find = DECLARATIONS.find(([medium]) => medium.test(media))?.[1];
  const charset = find?.(new TextDecoder('latin1').decode(bytes.subarray(0, SNIFFED_BYTES)));
  // Read as ASCII so far, it cannot be what it says.
  return charset !== undefined && /^utf-16/i.test(charset) ? 'utf-8' : charset;
};

const xmlCharset = (head: string): string | undefined =>
  /^\s*<\?xml\s[^>]*?\sencoding\s*=\s*["']([^"'>]+)/.exec(head)?.[1];

const metaCharset = (head: string): string | undefined => {
  for (const [, written = ''] of head.matchAll(/<meta[\s/]((?:[^>"']|"[^"]*"|'[^']*')*)/gi)) {
    const attributes = parseAttributes(written);
    const isContentType = attributes.get('http-equiv')?.trim().toLowerCase() === 'content-type';
    const charset = isContentType ? CHARSET.exec(attributes.get('content') ?? '')?.[1] : attributes.get('charset');
    if (charset !== undefined) return charset.trim();
  }
  return undefined;
};

const parseAttributes = (written: string): ReadonlyMap<string, string> =>
  new Map(
    [...written.matchAll(/([^\s=/"'>]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/g)].map(
      ([, name = '', double, single, bare]) => [name.toLowerCase(), double ?? single ?? bare ?? ''],
    ),
  );

const createDecoder = (charset: string): TextDecoder => {
  try {
    return new TextDecoder(charset);
  } catch (thrown) {
    if (thrown instanceof RangeError) return new TextDecoder('utf-8');
    throw thrown;
  }
};
