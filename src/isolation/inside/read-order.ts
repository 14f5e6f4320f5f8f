import type { HostOrder } from '../host-messages.ts';

// Kept here, before a tool's code could put its own in its place.
const { hrtime } = process;

/** The system's monotonic clock, the same in all processes, in milliseconds. */
export const toNow = (): number => Number(hrtime.bigint()) / 1_000_000;

// The service's word is taken for it: nobody else writes on this side of the channel.
export const isOrder = (value: unknown): value is HostOrder =>
  typeof value === 'object' && value !== null && 'type' in value;

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

export type LoadOrder = Extract<HostOrder, { type: 'load' }>;
export type AbortOrder = Extract<HostOrder, { type: 'abort' }>;

/** What a handler's signal says. */
export const toAbortError = (reason: AbortOrder['reason']): DOMException => {
  const text = reason === 'TimeoutError' ? 'The deadline of this call passed.' : 'Nobody waits for this call any more.';
  return new DOMException(text, reason);
};
