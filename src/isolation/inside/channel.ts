import { Socket } from 'node:net';
import { createFrameReader, encodeFrame, type Frame } from '../frames.ts';
import type { HostMessage } from '../host-messages.ts';

/** The host's ends of the lines to the service. */
export type Channel = {
  /** Sends a message; `body` is text that the service does not parse with it. */
  readonly send: (message: HostMessage, body?: string) => void;
  /** Sends a message and goes on when it has left this process: at once, unless a large answer is still on its way. */
  readonly sendOut: (message: HostMessage, then: () => void) => void;
};

const ORDERS_FD = 3;
const WORDS_FD = 4;
// An argument object fits a request body; the sources of a tools directory are bounded by the service.
const MAX_BODY_BYTES = 536_870_912;

// Kept here, before a tool's code could put its own in their place.
const { stringify } = JSON;
const kill = process.kill.bind(process);

/** Opens the lines. When the service is gone the whole process group ends: nobody would ever read an answer again. */
export const openChannel = (onFrame: (frame: Frame) => void): Channel => {
  const orders = new Socket({ fd: ORDERS_FD, readable: true, writable: false });
  const words = new Socket({ fd: WORDS_FD, readable: false, writable: true });
  const end = (): void => void kill(-process.pid, 'SIGKILL');
  const reader = createFrameReader({ maxBodyBytes: MAX_BODY_BYTES, onFrame, onFault: end });
  orders.on('data', reader.read);
  orders.on('end', end);
  for (const line of [orders, words]) line.on('error', end);
  return {
    send: (message, body = '') => void words.write(encodeFrame(stringify(message), body)),
    sendOut: (message, then) => {
      let isWaiting = false;
      words.write(encodeFrame(stringify(message)), () => {
        if (isWaiting) then();
      });
      isWaiting = words.writableLength > 0;
      // Where it could not be written this process is about to end, and another one runs the call.
      if (!isWaiting && words.errored === null) then();
    },
  };
};
