/** Looks at something again and again: after `refreshMs` where the last look went well, else sooner. */
export type Rereading = { readonly start: () => void; readonly stop: () => void };

export type RereadingOptions = {
  /** Never rejects. */
  readonly look: () => Promise<'fine' | 'failed'>;
  readonly refreshMs: number;
  /** Doubles with each failure in a row, up to a minute. */
  readonly firstRetryMs: number;
};

const LONGEST_RETRY_MS = 60_000;

export const createRereading = ({ look, refreshMs, firstRetryMs }: RereadingOptions): Rereading => {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let failures = 0;
  const schedule = (delayMs: number): void => {
    if (!stopped) timer = setTimeout(() => void run(), delayMs).unref();
  };
  const run = async (): Promise<void> => {
    const outcome = await look();
    failures = outcome === 'fine' ? 0 : failures + 1;
    schedule(outcome === 'fine' ? refreshMs : toRetryMs(failures));
  };
  // Between half and whole by chance: a crowd of replicas must not come back as one.
  const toRetryMs = (count: number): number =>
    Math.min(LONGEST_RETRY_MS, firstRetryMs * 2 ** Math.min(count - 1, 16)) * (0.5 + Math.random() / 2);
  return {
    start: () => void run(),
    stop: () => {
      stopped = true;
      clearTimeout(timer);
    },
  };
};
