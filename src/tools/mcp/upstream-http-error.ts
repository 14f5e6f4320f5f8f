/** What a request over HTTP came to that the SDK's own errors do not tell. */
export type HttpTrouble =
  | { readonly kind: 'status'; readonly status: number; readonly retryAfterMs: number | undefined }
  | { readonly kind: 'too_large' };

const TROUBLE: unique symbol = Symbol('trouble');
type TroubledError = Error & { readonly [TROUBLE]: HttpTrouble };

export const toHttpError = (trouble: HttpTrouble): Error => {
  const text = trouble.kind === 'status' ? `HTTP ${trouble.status}` : 'the answer is too large';
  return Object.assign(new Error(text), { [TROUBLE]: trouble });
};

const isTroubled = (error: unknown): error is TroubledError => error instanceof Error && TROUBLE in error;

/** What happened, of an error that `toHttpError` made, or of one that has such an error as its cause; else null. */
export const readHttpTrouble = (error: unknown): HttpTrouble | null => {
  if (isTroubled(error)) return error[TROUBLE];
  return error instanceof Error && error.cause !== undefined ? readHttpTrouble(error.cause) : null;
};
