import { expect, test } from 'vitest';
import { startRoute } from './start-route.ts';
import { createTaskDesk } from './task-desk.ts';
import { openTaskSession } from './task-session.ts';

const start = async () => openTaskSession((await startRoute(createTaskDesk())).url);

test('a call that becomes a task is settled by its result, which may be an error', async () => {
  const session = await start();
  const execution = await session.callTool('failing_job', {});
  expect(execution.kind).toBe('task');
  const { outcome } = await execution.settle();
  expect(outcome).toMatchObject({ status: 'completed', result: { isError: true } });
});

test('a call that ends at once is no task', async () => {
  const session = await start();
  const execution = await session.callTool('greet', { name: 'A' });
  expect(execution.kind).toBe('immediate');
  const { outcome } = await execution.settle();
  expect(outcome).toMatchObject({ status: 'completed', result: { content: [{ text: 'Hello, A!' }] } });
});

test('a task that its client cancels is cancelled', async () => {
  const session = await start();
  const execution = await session.callTool('slow_compute', { seconds: 600 });
  await execution.cancel();
  expect(await execution.result()).toMatchObject({ status: 'cancelled' });
});
