/** The media type in lower case and the charset of a Content-Type, `''` and undefined where it says nothing. */
const parseContentType = (contentType: string): { readonly media: string; readonly charset: string | undefined } => ({
  media: contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '',
  charset: /;\s*charset\s*=\s*["']?([^\s;"']+)/i.exec(contentType)?.[1],
});

const TEXT_MEDIA =
  /^(text\/.+|.+\+(json|xml|yaml)|application\/(x-)?(json|json5|jsonl|ndjson|xml|xml-dtd|javascript|ecmascript|typescript|yaml|toml|sql|graphql|sh|www-form-urlencoded|csv|tex|latex))$/;
// What servers say of files they do not know: source code and logs as often as pictures.
const UNDECLARED_MEDIA: ReadonlySet<string> = new Set(['', 'application/octet-stream', 'binary/octet-stream']);
const SNIFFED_BYTES = 1_024;

const looksLikeText = (bytes: Uint8Array): boolean => !bytes.subarray(0, SNIFFED_BYTES).includes(0);

/**
 * The text of a body, or null where it is none. A byte order mark decides, then the charset of the Content-Type, then
 * UTF-8; an unknown charset is read as UTF-8. A character that `rest: 'cut'` left in half is dropped.
 * Source: the Encoding Standard's decode.
 */
export const toText = (bytes: Uint8Array, contentType: string, rest: 'complete' | 'cut'): string | null => {
  const { media, charset } = parseContentType(contentType);
  const isText = UNDECLARED_MEDIA.has(media) ? looksLikeText(bytes) : TEXT_MEDIA.test(media);
  if (!isText) return null;
  return toDecoder(markedCharset(bytes) ?? charset ?? 'utf-8').decode(bytes, { stream: rest === 'cut' });
};

const markedCharset = ([first, second, third]: Uint8Array): string | undefined => {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xff && second === 0xfe ? 'utf-16le' : undefined;
};

const toDecoder = (charset: string): TextDecoder => {
  try {
    return new TextDecoder(charset);
  } catch (thrown) {
    if (thrown instanceof RangeError) return new TextDecoder('utf-8');
    throw thrown;
  }
};
