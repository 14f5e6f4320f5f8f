import { join } from 'node:path';
import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { ToolCallsResponse } from 'recourse-server/internal/contract/tool-result.ts';
import { createTester, type Loss, type TestCall, type Tester } from 'recourse-server/testing';
import { tools } from './tools.ts';

const KEY = 'parity-key';

/** A batch as it is sent to each. */
export type Step = {
  readonly calls: readonly TestCall[];
  readonly session?: string;
  readonly roundId?: string;
  readonly key?: string;
  readonly order?: 'sequential';
  readonly onError?: 'stop';
  readonly deadlineMs?: number;
  /** Of a service the tool itself has its process die. */
  readonly lose?: Loss;
};

/** The results of a batch without what differs between two runs of one service; or the code of the problem. */
export type Told = readonly unknown[] | string;

export type Lab = {
  readonly byTester: (step: Step) => Promise<Told>;
  /** The tools run inside the service. */
  readonly byInline: (step: Step) => Promise<Told>;
  /** They run in processes of their own. */
  readonly byIsolated: (step: Step) => Promise<Told>;
  readonly close: () => Promise<void>;
};

/** One tester and two services with the same tools, and one caller who may use those whose names begin with `parity_`. */
export const startLab = async (): Promise<Lab> => {
  const environment = { API_KEYS: toKeyEntry('acme', KEY, 'tools=parity_*'), LOG_LEVEL: 'silent' };
  const [inline, isolated] = await Promise.all([
    startService(environment, tools),
    startService({ ...environment, TOOLS_DIR: join(import.meta.dirname, '.') }),
  ]);
  const tester = createTester(tools);
  return {
    byTester: (step) => askTester(tester, step),
    byInline: (step) => askService(inline, step),
    byIsolated: (step) => askService(isolated, step),
    close: async () => {
      await Promise.all([inline.stop(), isolated.stop(), tester.close()]);
    },
  };
};

const mayUse = (tool: string): boolean => tool.startsWith('parity_');

const askTester = (tester: Tester, { calls, ...options }: Step): Promise<Told> =>
  tester.batch(calls, { ...options, tenant: 'acme', mayUse }).then(
    (results) => results.map(toComparable),
    (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : String(error)),
  );

const askService = async ({ url }: RunningService, { calls, key, ...step }: Step): Promise<Told> => {
  const answer = await fetch(`${url}/tool-calls`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${KEY}`,
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    body: JSON.stringify({
      calls,
      session_id: step.session,
      round_id: step.roundId,
      order: step.order,
      on_error: step.onError,
      deadline_ms: step.deadlineMs,
    }),
  });
  const body: unknown = await answer.json();
  if (answer.status !== 200)
    return typeof body === 'object' && body !== null && 'code' in body ? String(body.code) : String(answer.status);
  return ToolCallsResponse.parse(body).results.map(toComparable);
};

const toComparable = (result: object): unknown => {
  const { duration_ms, progress, parts, thrown, error, ...rest }: Readonly<Record<string, unknown>> = { ...result };
  const same: Readonly<Record<string, unknown>> = { ...rest, reconciled: withoutTime(rest['reconciled']) };
  if (typeof error !== 'object' || error === null) return { ...same, error };
  const { reference, retry_after_ms, effect_id, ...detail }: Readonly<Record<string, unknown>> = { ...error };
  // An open circuit counts down, and a batch has used some of its time when a call of it begins.
  const wait = detail['code'] === 'circuit_open' ? 'so long' : retry_after_ms;
  const message = String(same['message']).replace(/available again in .* seconds?\b|after \d+ ms/, 'so long');
  return { ...same, message, error: { ...detail, has_effect_id: effect_id !== undefined, retry_after_ms: wait } };
};

// A look on a busy machine may not answer in time, and is taken again.
const withoutTime = (reconciled: unknown): unknown =>
  typeof reconciled === 'object' ? { ...reconciled, attempts: 'so often', after_ms: 'so long' } : reconciled;
