import { openLab, toOutcome, toolFile } from '@recourse/test-support/isolation-lab.ts';
import { CallContext, type CallFacts } from 'recourse-server/internal/executor/call-context.ts';
import { createCancellation } from 'recourse-server/internal/executor/deadline.ts';
import { invokeTool } from 'recourse-server/internal/executor/invoke-tool.ts';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { expect, test } from 'vitest';

const ignore = (): void => undefined;

const runInline = async (facts: Partial<CallFacts>): Promise<unknown> => {
  const tool = defineTool({
    name: 'told',
    description: '',
    effects: 'write',
    input: { type: 'object' },
    run: (_, { idempotencyKey }) => ({ told: idempotencyKey }),
  });
  const end = createCancellation(60_000, { isGone: () => false, whenGone: () => ignore }, performance);
  const createLog = () => ({ debug: ignore, info: ignore, warn: ignore, error: ignore });
  const about = {
    requestId: 'r',
    tool: 'told',
    callId: null,
    session: null,
    effects: 'read' as const,
    retriesLeft: 0,
    timeoutMs: 1000,
    createLog,
  };
  const context = new CallContext({ ...about, ...facts });
  const ran = await invokeTool(tool, {}, { context, timeoutMs: 1000, cancellation: end });
  end.close();
  return ran.kind === 'returned' ? ran.value : ran;
};

test("a tool inside the service is told its call's key, and null where its batch has none", async () => {
  expect(await runInline({ idempotencyKey: 'order 7#0' })).toEqual({ told: 'order 7#0' });
  expect(await runInline({ idempotencyKey: null })).toEqual({ told: null });
  expect(await runInline({})).toEqual({ told: null });
});

test("a tool in a process of its own is told its call's key, each call its own", async () => {
  const lab = openLab();
  const file = await lab.load(toolFile({ told: 'return { told: context.idempotencyKey };' }));
  const keyOf = async (about: { readonly idempotencyKey?: string }): Promise<unknown> =>
    toOutcome(await file.call('told', {}, 60_000, about));
  expect(await keyOf({ idempotencyKey: 'order 7#0' })).toEqual({ told: 'order 7#0' });
  expect(await keyOf({ idempotencyKey: 'order "8" — ü#63' })).toEqual({ told: 'order "8" — ü#63' });
  expect(await keyOf({})).toEqual({ told: null });
});
