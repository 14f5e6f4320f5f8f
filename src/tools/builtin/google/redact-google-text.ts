import { showText } from '../../http/show-url.ts';
import { createSecretHider, HIDDEN } from './hide-secrets.ts';

// A JSON Web Token, whole or not (RFC 7519): each begins with `{"`. A sign-in's tells who asks for what.
const ASSERTION = /eyJ[\w-]{8,}(?:\.[\w-]*){0,4}/g;

// An error answer has no more; what the library says of itself may quote more.
const MOST_READ = 65_536;

/** What Google says as a message may show it: without these secrets and without assertions, which go before it is cut. */
export const redactGoogleText = (text: string, secrets: readonly string[]): string =>
  showText(createSecretHider(secrets)(text, { from: 0, to: MOST_READ }).replace(ASSERTION, HIDDEN));
