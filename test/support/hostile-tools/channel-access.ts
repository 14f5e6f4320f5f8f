import { writeSync } from 'node:fs';

/** The line on which a host speaks to its service. No tool should know it; one that means harm finds it. */
export const CHANNEL = 4;

/** Bytes that look like a message: lengths of head and body, then both. */
export const toFrame = (head: object, body = ''): Buffer => {
  const text = Buffer.from(JSON.stringify(head));
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32BE(text.length, 0);
  lengths.writeUInt32BE(Buffer.byteLength(body), 4);
  return Buffer.concat([lengths, text, Buffer.from(body)]);
};

/** Writes all of it, however slowly the other side reads. Gives up where nobody reads any more. */
export const writeAll = (descriptor: number, bytes: Buffer): void => {
  for (let at = 0; at < bytes.length; ) at += writeSome(descriptor, bytes.subarray(at));
};

const writeSome = (descriptor: number, bytes: Buffer): number => {
  try {
    return writeSync(descriptor, bytes);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return 0;
    throw error;
  }
};

/** The nonce of the call that runs, overheard from what `speak` makes the host send. */
export const overhearNonce = (speak: () => void): string => {
  const { write } = Buffer.prototype;
  let heard = '';
  Reflect.set(Buffer.prototype, 'write', function (this: Buffer, text: string, ...place: readonly unknown[]): unknown {
    heard = /"nonce":"([^"]+)"/.exec(text)?.[1] ?? heard;
    return Reflect.apply(write, this, [text, ...place]);
  });
  speak();
  Reflect.set(Buffer.prototype, 'write', write);
  return heard;
};

export const SUCCESS = { kind: 'success', message: '', marks: [], warnings: [] };
