import type { ToolContext } from '../../tool.ts';
import type { GoogleCall } from './google-access.ts';

const MOST_MARGIN_MS = 1_000;

/**
 * One limit for all requests of a call, to be taken where its handler starts: a little before the call's own, so that
 * what is told is who was slow.
 */
export const beginGoogleCall = ({ signal, timeoutMs }: Pick<ToolContext, 'signal' | 'timeoutMs'>): GoogleCall => ({
  signal,
  endsAtMs: performance.now() + timeoutMs - Math.min(MOST_MARGIN_MS, timeoutMs / 10),
});

/** Milliseconds that a call has left, at least 1. */
export const toRemainingMs = ({ endsAtMs }: GoogleCall): number => Math.max(1, endsAtMs - performance.now());
