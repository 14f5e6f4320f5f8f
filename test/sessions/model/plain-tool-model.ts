export type PlainOutcome = 'failed' | 'succeeded' | 'mixed' | 'neither' | 'interrupted';

/** A round as one tool sees it. */
export type Attempt = {
  readonly round: string | null;
  retry: boolean;
  readonly epoch: number;
  readonly joinUntil: number;
  lease: number;
  unsettled: number;
  failed: boolean;
  succeeded: boolean;
};

/** A failed round that counts; `by` is null where it came after its lease, or had nothing to be remembered by. */
type Standing = { readonly by: Attempt | null; readonly retry: boolean };

/** What one tool of a session remembers, as lists. Part of the plain model of the retry budget. */
export class PlainTool {
  epoch = 0;
  lastFailedAt = 0;
  lastError = '';
  private standing: readonly Standing[] = [];
  private attempts: readonly Attempt[] = [];

  failures(): number {
    return this.standing.length;
  }

  used(): number {
    return this.standing.filter(({ retry }) => retry).length;
  }

  running(): number {
    return this.attempts.filter((attempt) => this.isRunning(attempt)).length;
  }

  held(): number {
    return this.used() + this.running();
  }

  /** Ends the leases that are over; gives how many retries were running under them. */
  endLeases(now: number): number {
    const over = this.attempts.filter(({ lease }) => lease <= now);
    const lost = over.filter((attempt) => this.isRunning(attempt)).length;
    this.attempts = this.attempts.filter(({ lease }) => lease > now);
    return lost;
  }

  findAttempt(round: string | null, now: number): Attempt | undefined {
    if (round === null) return undefined;
    return this.attempts.find((attempt) => attempt.round === round && attempt.joinUntil > now);
  }

  /** Whether a further batch of the round needs no retry beside what the round holds. */
  mayGoOn(own: Attempt): boolean {
    return this.isRunning(own) || this.hasFailed(own) || this.standing.length === 0 || !own.retry;
  }

  /** A further batch of the round begins. */
  goOn(own: Attempt, lease: number): void {
    const holds = this.isRunning(own) || this.hasFailed(own);
    if (!holds && this.standing.length === 0) own.retry = false;
    own.unsettled += 1;
    own.lease = Math.max(own.lease, lease);
  }

  begin(round: string | null, lease: number): Attempt {
    const attempt = {
      round,
      retry: this.standing.length > 0,
      epoch: this.epoch,
      joinUntil: lease,
      lease,
      unsettled: 1,
      failed: false,
      succeeded: false,
    };
    this.attempts = [...this.attempts, attempt];
    return attempt;
  }

  drop(own: Attempt | undefined): void {
    this.attempts = this.attempts.filter((attempt) => attempt !== own);
  }

  has(attempt: Attempt | null): attempt is Attempt {
    return attempt !== null && this.attempts.includes(attempt);
  }

  makeFresh(): void {
    this.standing = [];
  }

  fail(by: Attempt | null, decision: 'free' | 'retry', error: string, now: number): void {
    this.standing = [...this.standing, { by, retry: decision === 'retry' }];
    this.epoch += 1;
    this.lastFailedAt = now;
    this.lastError = error;
  }

  settle(attempt: Attempt, outcome: PlainOutcome, error: string, now: number): void {
    const before = toVerdict(attempt);
    attempt.unsettled -= 1;
    attempt.failed ||= outcome === 'failed' || outcome === 'mixed';
    attempt.succeeded ||= outcome === 'succeeded' || outcome === 'mixed';
    if (toVerdict(attempt) !== before) this.judge(attempt, error, now);
    const isOver = attempt.unsettled === 0 && (attempt.round === null || attempt.joinUntil <= now);
    if (isOver) this.drop(attempt);
  }

  private judge(attempt: Attempt, error: string, now: number): void {
    this.takeBack(attempt);
    const verdict = toVerdict(attempt);
    if (verdict === 'failed') this.fail(attempt, attempt.retry ? 'retry' : 'free', error, now);
    if (verdict === 'succeeded' && attempt.retry && attempt.epoch === this.epoch) this.makeFresh();
  }

  private takeBack(attempt: Attempt): void {
    this.standing = this.standing.filter(({ by }) => by !== attempt);
  }

  private hasFailed(attempt: Attempt): boolean {
    return this.standing.some(({ by }) => by === attempt);
  }

  private isRunning(attempt: Attempt): boolean {
    return attempt.retry && attempt.unsettled > 0 && !this.hasFailed(attempt);
  }
}

const toVerdict = ({ failed, succeeded }: Attempt): 'none' | 'failed' | 'succeeded' => {
  if (failed === succeeded) return 'none';
  return failed ? 'failed' : 'succeeded';
};
