// A tool that asks an HTTP API, with retries of the transport where they can do no harm.
import { setTimeout as sleep } from 'node:timers/promises';
import { defineTool, RetryableToolError, UpstreamToolError, z } from 'recourse-server';

// The deployer may name another server. A tool asks for a variable with `env`; the operator's TOOLS_ENV_ALLOW grants it.
const BASE_URL = process.env['RATES_URL'] ?? 'https://api.frankfurter.dev/v1';

const Currency = z.string().regex(/^[A-Z]{3}$/, 'must be a currency code such as EUR');
const Rates = z.object({ date: z.string(), rates: z.record(z.string(), z.number()) });

export const convertMoney = defineTool({
  name: 'convert_money',
  description: "Converts an amount of money at the European Central Bank's rate of a day, or the latest.",
  effects: 'read',
  env: ['RATES_URL'],
  timeoutMs: 10_000,
  input: z.object({
    amount: z.number().positive(),
    from: Currency,
    to: Currency,
    day: z.iso.date('must be a day such as 2026-10-01').optional(),
  }),
  run: async ({ amount, from, to, day }, { signal, log }) => {
    if (from === to) return { amount, currency: to, rate: 1, day: day ?? null };
    const url = `${BASE_URL}/${day ?? 'latest'}?base=${from}&symbols=${to}`;
    const answer = await askPatiently(url, signal, (attempt) => log.info('asking again', { attempt }));
    if (answer.status === 404)
      // The model can mend this, so it is told how.
      throw new RetryableToolError(`There is no rate from ${from} to ${to}.`, {
        hint: 'Use codes that the ECB lists.',
      });
    if (!answer.ok) throw unavailable(`The rates service answered ${answer.status}.`);
    const { date, rates } = Rates.parse(await answer.json());
    const rate = rates[to];
    if (rate === undefined) throw unavailable(`The rates service sent no rate for ${to}.`);
    return { amount: Math.round(amount * rate * 100) / 100, currency: to, rate, day: date };
  },
});

const ATTEMPTS = 3;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 3_000;
const PASSING = [429, 502, 503, 504];

/** Only for a GET: it may be sent again, for it changes nothing. What passes is waited for; the signal ends it all. */
const askPatiently = async (url: string, signal: AbortSignal, onRetry: (attempt: number) => void) => {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await fetch(url, { signal }).catch((cause: unknown) => {
      signal.throwIfAborted();
      return unavailable('The rates service cannot be reached. Try again later.', cause);
    });
    const isPassing = answer instanceof Error || PASSING.includes(answer.status);
    if (!isPassing) return answer;
    const pauseMs = pauseBefore(attempt, answer);
    // Not worth the model's time: it is told when to come back instead.
    if (attempt === ATTEMPTS || pauseMs > LONGEST_PAUSE_MS) throw toFailure(answer, pauseMs);
    onRetry(attempt + 1);
    await sleep(pauseMs, undefined, { signal });
  }
};

/** What Retry-After says, else twice as long each time, with a random part so that a crowd does not come back together. */
const pauseBefore = (attempt: number, answer: Response | Error): number => {
  const wished = answer instanceof Error ? null : answer.headers.get('retry-after');
  if (wished !== null && /^\d{1,6}$/.test(wished)) return Number(wished) * 1000;
  return FIRST_PAUSE_MS * 2 ** (attempt - 1) * (0.5 + Math.random());
};

const toFailure = (answer: Response | Error, retryAfterMs: number): Error => {
  if (answer instanceof Error) return answer;
  if (answer.status !== 429) return unavailable(`The rates service answered ${answer.status}. Try again later.`);
  const seconds = Math.ceil(retryAfterMs / 1000);
  return new UpstreamToolError(
    'upstream_rate_limited',
    `Rate limit exceeded (429). Try again in ${seconds} seconds or use another source.`,
    { executed: 'no', retryAfterMs },
  );
};

const unavailable = (message: string, cause?: unknown): Error =>
  new UpstreamToolError('upstream_unavailable', message, { executed: 'maybe', cause });
