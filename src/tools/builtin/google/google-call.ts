import { toWorkMs } from '../../to-work-ms.ts';
import type { ToolContext } from '../../tool.ts';
import type { GoogleCall } from './google-access.ts';

/**
 * One limit for all requests of a call, to be taken where its handler starts: before the call's own, so that what is
 * told is who was slow.
 */
export const beginGoogleCall = ({ signal, timeoutMs }: Pick<ToolContext, 'signal' | 'timeoutMs'>): GoogleCall => ({
  signal,
  endsAtMs: performance.now() + toWorkMs(timeoutMs),
});

/** Milliseconds that a call has left, at least 1. */
export const toRemainingMs = ({ endsAtMs }: GoogleCall): number => Math.max(1, endsAtMs - performance.now());
