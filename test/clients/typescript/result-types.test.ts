import { expect, test } from 'vitest';
import type { FailureDetail, ToolResult } from '../../../clients/typescript/src/client.ts';

/** Compiles only where `success` tells whether `error` is null, in what the client gives. */
const toText = (result: ToolResult): string => {
  if (result.success) {
    const none: null = result.error;
    const outcome: 'success' = result.outcome;
    return `${outcome} ${String(none)}`;
  }
  const detail: FailureDetail = result.error;
  // @ts-expect-error: a failure's outcome is never `success`.
  const isSuccess = result.outcome === 'success';
  return `${detail.code} ${isSuccess}`;
};

const BASE = { index: 0, id: null, name: 'x', executed: 'yes', value: null, message: '', duration_ms: 1 } as const;
const ABOUT = { type: 'timeout', hint: null, issues: [], retry_after_ms: null, fatal: false, reference: '01M7' };

test('the result of a call is a union that `success` tells apart', () => {
  expect(toText({ ...BASE, success: true, outcome: 'success', error: null, retry: null })).toBe('success null');
  const error = { ...ABOUT, code: 'timeout' } as const;
  expect(toText({ ...BASE, success: false, outcome: 'retry', error, retry: null })).toBe('timeout false');
});
