import { AsyncResource } from 'node:async_hooks';
import fs from 'node:fs';
import { Socket } from 'node:net';
import { createFrameReader, encodeFrame, type Frame } from '../frames.ts';
import type { HostMessage } from '../host-messages.ts';

/** The host's ends of the lines to the service. */
export type Channel = {
  /** Sends a message; `body` is text that the service does not parse with it. */
  readonly send: (message: HostMessage, body?: string) => void;
  /** Sends a message and goes on when it has left this process: at once, unless a large answer is still on its way. */
  readonly sendOut: (message: HostMessage, then: () => void) => void;
  /** Ends this process and what it has started. */
  readonly end: () => void;
};

const ORDERS_FD = 3;
const WORDS_FD = 4;
// An argument object fits a request body; the sources of a tools directory are bounded by the service.
const MAX_BODY_BYTES = 536_870_912;
const READ_BYTES = 65_536;
// The longest that a timer can be.
const NEVER_MS = 2_147_483_647;

// Kept here, before a tool's code could put its own in their place.
const { stringify } = JSON;
const { from } = Buffer;
const { writeSync } = fs;
const kill = process.kill.bind(process);
const stayAlive = setInterval;

/**
 * Opens the lines. When the service is gone the whole process group ends: no answer would be read any more.
 *
 * Code of tools gets no object of either line: files run here one after another, and code that reads another file's orders knows its nonces. So
 * both sockets are ones that `process._getActiveHandles()` leaves out, orders are no `data` event, and no call runs as a part of
 * either as an async resource. Not kept out is code that uses the descriptors by their numbers, or, while a large answer is on its way,
 * finds its write in `process._getActiveRequests()`.
 */
export const openChannel = (onFrame: (frame: Frame) => void): Channel => {
  const end = (): void => void kill(-process.pid, 'SIGKILL');
  const reader = createFrameReader({ maxBodyBytes: MAX_BODY_BYTES, onFrame, onFault: end });
  const ours = new AsyncResource('RecourseOrders');
  const runAsOurs = ours.runInAsyncScope.bind(ours);
  const onBytes = (count: number, buffer: Uint8Array): boolean => {
    // Copied, for the next read fills the same buffer.
    runAsOurs(reader.read, null, from.call(Buffer, buffer.subarray(0, count)));
    return true;
  };
  const orders = new Socket({
    fd: ORDERS_FD,
    readable: true,
    writable: false,
    onread: { buffer: Buffer.alloc(READ_BYTES), callback: onBytes },
  });
  const words = new Socket({ fd: WORDS_FD, readable: false, writable: true });
  orders.on('end', end).resume();
  for (const line of [orders, words]) line.on('error', end).unref();
  // In their place.
  stayAlive(() => undefined, NEVER_MS);
  const write = (bytes: Buffer, then: () => void): void => {
    const sent = words.writableLength === 0 ? writeNow(bytes) : 0;
    if (sent === bytes.length) then();
    // Where it cannot be written this process is about to end, and another one runs the call.
    else words.write(bytes.subarray(sent), (error) => error ?? runAsOurs(then));
  };
  return {
    send: (message, body) => write(encodeFrame(stringify(message), body), nothing),
    sendOut: (message, then) => write(encodeFrame(stringify(message)), then),
    end,
  };
};

const nothing = (): void => undefined;

/** Writes what the line takes now and gives the number of bytes: in some 8 µs less than by the socket. */
const writeNow = (bytes: Buffer): number => {
  try {
    return writeSync(WORDS_FD, bytes);
  } catch (_full) {
    return 0;
  }
};
