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
