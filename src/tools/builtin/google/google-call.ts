import { toWorkMs } from '../../to-work-ms.ts';
import type { ToolContext } from '../../tool.ts';
import type { GoogleCall } from './google-access.ts';
import { createSecretHider, type HideSecrets } from './hide-secrets.ts';

/**
 * One limit for all requests of a call, to be taken where its handler starts: before the call's own, so that what is
 * told is who was slow.
 */
export const beginGoogleCall = ({ signal, timeoutMs }: Pick<ToolContext, 'signal' | 'timeoutMs'>): GoogleCall => ({
  signal,
  endsAtMs: performance.now() + toWorkMs(timeoutMs),
  accessTokens: new Set(),
});

/** Milliseconds that a call has left, at least 1. */
export const toRemainingMs = ({ endsAtMs }: GoogleCall): number => Math.max(1, endsAtMs - performance.now());

/**
 * What takes the access tokens of a call out of texts that are told, to be used once they are decoded and before they are
 * cut: a part of a token, or one in another form, is not known for one.
 */
export const toTokenHider = ({ accessTokens }: GoogleCall): HideSecrets => createSecretHider([...accessTokens]);
