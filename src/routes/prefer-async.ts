import type { FastifyRequest } from 'fastify';
import type { ToolCallsRequest } from '../contract/tool-call.ts';
import type { AsyncTerms } from '../executor/pending-calls.ts';
import { ProblemError } from './problems.ts';

export type PreferAsyncOptions = {
  /** Whether the tenant may have an endpoint told of its calls. */
  readonly hasWebhook: (tenant: string, endpoint: string) => boolean;
  readonly maxDeadlineMs: number;
};

/** What a request says of how long it waits: `Prefer: respond-async, wait=10` (RFC 7240), or `wait_ms`; null: until the end. */
export const readAsyncTerms = (
  { headers }: Pick<FastifyRequest, 'headers'>,
  stated: Pick<ToolCallsRequest, 'wait_ms' | 'notify'>,
  tenant: string,
  options: PreferAsyncOptions,
): AsyncTerms | null => {
  const { prefer } = headers;
  const { wait_ms: waitMs, notify = null } = stated;
  if (prefer === undefined && typeof waitMs !== 'number' && notify === null) return null;
  const preferred = readPreferences(prefer);
  if (!preferred.has('respond-async') && typeof waitMs !== 'number') {
    if (notify !== null)
      throw createNotifyProblem('notify needs a call that goes on: send Prefer: respond-async, or wait_ms.');
    return null;
  }
  if (notify !== null && !options.hasWebhook(tenant, notify))
    throw createNotifyProblem(`No webhook endpoint '${notify}' is configured for this caller.`);
  const wait = typeof waitMs === 'number' ? waitMs : parseWaitMs(preferred.get('wait'));
  return { waitMs: wait === null ? null : Math.min(wait, options.maxDeadlineMs), notify };
};

const createNotifyProblem = (detail: string): ProblemError => new ProblemError(400, 'unknown_webhook', detail);

// Names are compared without case, and of a preference that comes twice the first counts (RFC 7240, section 2).
const readPreferences = (header: string | readonly string[] | undefined): ReadonlyMap<string, string> => {
  const preferences = new Map<string, string>();
  for (const preference of [header ?? []].flat().join(',').split(',')) {
    const [name = '', value = ''] = (preference.split(';')[0] ?? '').split('=');
    const token = name.trim().toLowerCase();
    if (token !== '' && !preferences.has(token)) preferences.set(token, value.trim().replace(/^"(.*)"$/, '$1'));
  }
  return preferences;
};

const parseWaitMs = (seconds: string | undefined): number | null =>
  seconds !== undefined && /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1000 : null;
