export type Refusal = {
  readonly kind: 'refused';
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly requestId: string;
  /** From Retry-After. */
  readonly retryAfterSeconds: number | null;
};

/** What came of a request. `unreachable`: there was no answer at all. `aborted`: nobody waits for it any more. */
export type Answer =
  | { readonly kind: 'done'; readonly text: string; readonly body: unknown }
  | Refusal
  | { readonly kind: 'unreachable' }
  | { readonly kind: 'aborted' };

export type Trouble = Exclude<Answer, { readonly kind: 'done' | 'aborted' }>;
