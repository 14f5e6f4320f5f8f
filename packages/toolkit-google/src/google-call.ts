import { toWorkMs } from '@recourse/toolkit-kit/page-answers';
import type { OAuth2Client } from 'google-auth-library';
import type { ToolContext } from 'recourse-server/extension';
import { createSecretHider, type HideSecrets } from './hide-secrets.ts';

/** One of Google's APIs, as people and `gcloud` know it. */
export type GoogleApi = {
  /** `Google Drive` */
  readonly name: string;
  /** `drive.googleapis.com`, for `gcloud services enable`. */
  readonly service: string;
  /** The least that its tools need. */
  readonly scope: string;
};

export const DRIVE: GoogleApi = {
  name: 'Google Drive',
  service: 'drive.googleapis.com',
  scope: 'https://www.googleapis.com/auth/drive.readonly',
};

export const GMAIL: GoogleApi = {
  name: 'Gmail',
  service: 'gmail.googleapis.com',
  scope: 'https://www.googleapis.com/auth/gmail.readonly',
};

export const CALENDAR: GoogleApi = {
  name: 'Google Calendar',
  service: 'calendar-json.googleapis.com',
  scope: 'https://www.googleapis.com/auth/calendar.readonly',
};

/** What all requests of one call of a tool share. */
export type GoogleCall = {
  readonly signal: AbortSignal;
  /** When the last of them must have its answer, on the clock of `performance.now()`. */
  readonly endsAtMs: number;
  /** What they were asked with so far. Google may repeat it: `createTokenHider`. */
  readonly accessTokens: Set<string>;
};

/** What every request of Google's client libraries is given, as their second argument. */
export type GoogleRequestOptions = {
  readonly signal: AbortSignal;
  readonly fetchImplementation: typeof fetch;
  readonly responseType: 'json' | 'arraybuffer';
};

/** One request. What comes back is unknown: the library's types promise more than Google's answers keep. */
export type GoogleRequest = (
  auth: OAuth2Client,
  options: GoogleRequestOptions,
) => Promise<{ readonly data: unknown; readonly headers?: unknown }>;

/** What one request means, for the texts of its failures. */
export type GoogleMeaning = {
  /** The whole text of a 404, given the account that asks: "There is no file 'x', or …". Without it: Google's own words. */
  readonly missing?: (account: string | null) => string;
  /** The whole text of a 403 for want of access, given the account that asks. Of any other 403, Google's words are told. */
  readonly forbidden?: (account: string | null) => string;
};

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
export const findRemainingMs = ({ endsAtMs }: GoogleCall): number => Math.max(1, endsAtMs - performance.now());

/**
 * What takes the access tokens of a call out of texts that are told, to be used once they are decoded and before they are
 * cut: a part of a token, or one in another form, is not known for one.
 */
export const createTokenHider = ({ accessTokens }: GoogleCall): HideSecrets => createSecretHider([...accessTokens]);
