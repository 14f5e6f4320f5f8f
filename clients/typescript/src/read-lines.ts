/** The lines of a body as they come, without what ends them; a last line without an end is not whole and left out. Throws where one has more bytes. */
export async function* readLines(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      bytes += value.byteLength;
      const [first = '', ...others] = decoder.decode(value, { stream: true }).split('\n');
      parts.push(first);
      for (const other of others) {
        yield parts.join('');
        parts = [other];
        bytes = 0;
      }
      if (bytes > maxBytes) throw new RangeError(`An event is larger than ${maxBytes} bytes.`);
    }
  } finally {
    // Ends the connection, too. Whether that works is no longer of interest.
    reader.cancel().catch(() => undefined);
  }
}
