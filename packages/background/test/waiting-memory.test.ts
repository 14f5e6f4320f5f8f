import { createActor, startLab } from '@recourse/test-support/keyed-client.ts';
import { createHeldTool, createPendingClient } from '@recourse/test-support/pending-client.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';

// Half of it is for one caller: eighty requests as they come in at the door.
const MEMORY = { MAX_ANSWER_BYTES: '1048576', MAX_BODY_BYTES: '524288', REQUEST_MEMORY_MB: '10' };
const POLLS = 150;
const STREAMS = 100;

const Finished = z.object({ status: z.literal('done') });

test('hundreds of requests of a caller wait, and its other calls find room', async () => {
  const build = createHeldTool('build');
  const { service, post } = await startLab([build, createActor('look')], MEMORY);
  const { begin } = createPendingClient(service.url);
  const { requestId } = await begin({ calls: [{ id: 'a', name: 'build', arguments: { only: 1 } }] });
  const path = `${service.url}/tool-calls/${requestId}`;
  const polls = Array.from({ length: POLLS }, () => fetch(`${path}?wait_ms=30000`));
  const streams = await Promise.all(Array.from({ length: STREAMS }, () => fetch(`${path}/events`)));
  expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200));
  const bytesOf = async () => (await service.metric('recourse_request_memory_bytes')) ?? 0;
  // All of them are there, and none holds what an answer needs.
  await expect.poll(bytesOf).toBeGreaterThan((POLLS + STREAMS) * 8000);
  expect(await bytesOf()).toBeLessThan((POLLS + STREAMS) * 12_000);
  const { results } = await post({ calls: [{ id: 'b', name: 'look', arguments: { only: 1 } }] });
  expect(results.map(({ outcome }) => outcome)).toEqual(['success']);
  build.release();
  const texts = await Promise.all(streams.map((stream) => stream.text()));
  expect(texts.filter((text) => !text.includes('event: done'))).toEqual([]);
  for (const answer of await Promise.all(polls)) Finished.parse(await answer.json());
  await expect.poll(bytesOf).toBe(0);
});
