import { expect, test } from 'vitest';
import type { ToolResult } from '#src/contract/tool-result.ts';
import { createAccounts } from '../../chaos/accounts.ts';
import { judgeKeyed } from '../../chaos/judge-keyed.ts';
import { type KeyRecord, toSeenResult } from '../../chaos/keyed-attempt.ts';
import type { PlannedCall } from '../../chaos/plan-batch.ts';

const toCall = (id: string, name: string): PlannedCall => ({ id, name, arguments: {}, nature: 'good', codes: ['ok'] });

const toResult = (index: number, id: string, name: string, code: 'invalid_arguments' | 'not_executed'): ToolResult => ({
  ...{ index, id, name, success: false, outcome: 'retry', executed: 'no', value: null, message: 'Not executed.' },
  error: {
    code,
    type: code,
    hint: null,
    issues: [],
    retry_after_ms: null,
    fatal: false,
    reference: `${Math.random()}`,
  },
  retry: null,
  duration_ms: 0,
});

/** Two answers in a row to a batch of which nothing ran. */
const toRecord = (calls: readonly PlannedCall[], toAnswer: () => readonly ToolResult[]): KeyRecord => ({
  batch: {
    ...{ body: '', key: 'key', sessionId: null, calls, deadlineMs: 1000, connection: 'kept', hangUpAfterMs: null },
  },
  attempts: [0, 10].map((sentAt) => ({
    ...{ requestId: `request-${sentAt}`, sentAt, endedAt: sentAt + 5 },
    end: { kind: 'answered', isReplayed: false, results: toAnswer().map((result) => toSeenResult(result, calls)) },
  })),
});

const judge = (record: KeyRecord): number => {
  const accounts = createAccounts();
  judgeKeyed([record], new Map(), accounts);
  return accounts.offencesOf('keyed_replay');
};

test('an answer of which nothing ran may have had no record, also where one of its calls is a copy of another', () => {
  const calls = [toCall('a', 'list_files'), toCall('call_0', 'read_file'), toCall('call_0', 'read_file')];
  const answer = (): readonly ToolResult[] => [
    toResult(0, 'a', 'list_files', 'invalid_arguments'),
    toResult(1, 'call_0', 'read_file', 'not_executed'),
    { ...toResult(2, 'call_0', 'read_file', 'not_executed'), replayed: true },
  ];
  expect(judge(toRecord(calls, answer))).toBe(0);
});

test('an answer that has a kept result had a record: what it says first is to be given again', () => {
  const calls = [toCall('a', 'list_files'), toCall('b', 'read_file')];
  const kept: ToolResult = { ...toResult(1, 'b', 'read_file', 'invalid_arguments'), replayed: true };
  expect(judge(toRecord(calls, () => [toResult(0, 'a', 'list_files', 'invalid_arguments'), kept]))).toBe(1);
});
