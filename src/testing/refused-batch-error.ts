/** The service answers the batch with a problem instead of results. Nothing of it has run. */
export class RefusedBatchError extends Error {
  override readonly name = 'RefusedBatchError';
  /** The HTTP status of the answer. */
  readonly status: 400 | 409 | 422;
  /** The code of the problem: `invalid_request`, `idempotency_key_in_flight`, `idempotency_key_reused`, … */
  readonly code: string;

  constructor(status: 400 | 409 | 422, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}
