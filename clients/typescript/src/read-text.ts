/** The text of an answer; null where it has more bytes than that, decompressed: what is beyond is not read. */
export const readText = async ({ body }: Response, maxBytes: number): Promise<string | null> => {
  if (body === null) return '';
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let left = maxBytes;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return parts.join('') + decoder.decode();
    left -= value.byteLength;
    if (left < 0) {
      // Ends the connection, too. Whether that works is no longer of interest.
      reader.cancel().catch(() => undefined);
      return null;
    }
    parts.push(decoder.decode(value, { stream: true }));
  }
};
