import { expect, test } from 'vitest';
import type { FailureDetail, ToolResult } from '../../../clients/typescript/src/client.ts';

/** Compiles only where `success` and `outcome` tell whether `error` is null, in what the client gives. */
const toText = (result: ToolResult): string => {
  if (result.success) {
    const none: null = result.error;
    const outcome: 'success' = result.outcome;
    return `${outcome} ${String(none)}`;
  }
  if (result.outcome === 'pending') {
    const none: null = result.error;
    return `${result.pending.call} ${String(none)}`;
  }
  if (result.outcome === 'checked') return `${result.dry_run.would} ${result.error?.code ?? 'no failure'}`;
  const detail: FailureDetail = result.error;
  // @ts-expect-error: a failure's outcome is never `success`.
  const isSuccess = result.outcome === 'success';
  return `${detail.code} ${isSuccess}`;
};

const BASE = { index: 0, id: null, name: 'x', executed: 'yes', value: null, message: '', duration_ms: 1 } as const;
const ABOUT = { type: 'timeout', hint: null, issues: [], retry_after_ms: null, fatal: false, reference: '01M7' };

const PENDING = {
  call: 'c_1',
  state: 'queued',
  since: '2026-11-23T12:00:00Z',
  expires_at: '2026-11-23T13:00:00Z',
  poll_after_ms: 2000,
  progress: null,
  approval: null,
} as const;

test('the result of a call is a union that `success` tells apart', () => {
  expect(toText({ ...BASE, success: true, outcome: 'success', error: null, retry: null })).toBe('success null');
  const error = { ...ABOUT, code: 'timeout' } as const;
  expect(toText({ ...BASE, success: false, outcome: 'retry', error, retry: null })).toBe('timeout false');
  const waits = { ...BASE, executed: 'no', success: false, outcome: 'pending', error: null, retry: null } as const;
  expect(toText({ ...waits, pending: PENDING })).toBe('c_1 null');
  const dry = { depth: 'checked', would: 'run', digest: null, rules: [] } as const;
  expect(toText({ ...waits, outcome: 'checked', dry_run: dry })).toBe('run no failure');
});
