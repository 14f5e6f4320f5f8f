import { chatCall } from '@recourse/test-support/dialect-client.ts';
import { createActor } from '@recourse/test-support/keyed-client.ts';
import type { RawAnswer } from '@recourse/test-support/raw-http.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { onTestFinished } from 'vitest';
import * as z from 'zod';

/** A service with `deploy`, which ends when a test says so, and `look`, which ends at once. */
export const start = async () => {
  const end = Promise.withResolvers<unknown>();
  const deploy = createActor('deploy', { effects: 'write', background: 'optional' }, () => end.promise);
  const look = createActor('look', {}, () => 'a tree');
  const service = await startService({}, [deploy.tool, look.tool]);
  onTestFinished(async () => {
    end.resolve('too late');
    await service.stop();
  });
  return { service, end: end.resolve };
};

export const ASYNC = { prefer: 'respond-async' };

const Answer = z.object({
  request_id: z.string(),
  status: z.string(),
  results: z.array(z.object({ outcome: z.string() })),
  format: z.string(),
  messages: z.array(z.unknown()),
});

export const read = ({ body }: RawAnswer) => Answer.parse(JSON.parse(body));

export const get = async (
  { url }: RunningService,
  path: string,
  headers: Record<string, string> = {},
): Promise<RawAnswer> => {
  const answer = await fetch(`${url}/tool-calls/${path}`, { headers });
  return { status: answer.status, headers: new Map(answer.headers), body: await answer.text() };
};

export const CHAT = {
  headers: { authorization: 'Bearer key' },
  toBody: (messages: readonly unknown[]) => ({ model: 'any', messages }),
  question: { role: 'user', content: 'Deploy it.' },
  turn: {
    role: 'assistant',
    content: null,
    tool_calls: [chatCall('call_1', 'deploy', { to: 'prod' }), chatCall('call_2', 'look', {})],
  },
  said: { role: 'assistant', content: 'It is being deployed.' },
} as const;
