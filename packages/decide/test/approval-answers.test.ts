import { DEADLINE } from '@recourse/test-support/config-lab.ts';
import { ALL_FORMATS } from '@recourse/test-support/formats/all-formats.ts';
import { toPublishedTurn } from '@recourse/test-support/formats/scenarios.ts';
import { freshName } from '@recourse/test-support/keyed-client.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { startApprovals } from './approvals-lab.ts';

// What a model reads of approvals, in the words of the service and the format of each provider.

const ASK = { rules: [{ tools: 'echo', decide: 'ask' }] };
const TIME = String.raw`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;

const REQUIRED = new RegExp(
  `ERROR: approval_required: Not executed: a person has to approve this call to 'echo' first, and may do so until ${TIME}\\. Do not call it again before you are told that it is approved; then make the same call with the same arguments, and it runs once\\. Meanwhile continue with other work, or say that an approval is needed\\.`,
);
const DENIED =
  /ERROR: approval_denied: Not executed: a person has denied this call to 'echo': Too risky\. Do not call it again with these arguments, and do not get around the denial by other calls: continue without it, or say what could not be done\./;
const WAITING = new RegExp(
  `Tool 'echo' waits for a person's approval and has not started \\(\\d+ s so far\\)\\. It runs by itself once it is approved, which it may be until ${TIME}\\. Do not call it again: continue with other work, or wait for its result\\.`,
);

const Answered = z.object({
  request_id: z.string(),
  messages: z.tuple([z.unknown()]),
  results: z.tuple([z.looseObject({ pending: z.looseObject({ approval: z.unknown() }).optional() })]),
});

/** Sends the same message of a model again and again, in a session of its own. */
const createSend = (url: string, format: (typeof ALL_FORMATS)[number]) => {
  const session = freshName();
  return async (headers: Readonly<Record<string, string>> = {}) => {
    const answer = await fetch(`${url}/tool-calls?format=${format}&session_id=${session}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(toPublishedTurn(format, 'one-call')),
    });
    return Answered.parse(await answer.json());
  };
};

const decideAll = async (
  { ask }: Pick<Awaited<ReturnType<typeof startApprovals>>, 'ask'>,
  decision: 'approve' | 'deny',
): Promise<void> => {
  const listed = z.object({ approvals: z.array(z.object({ id: z.string(), digest: z.string() })) });
  for (const { id, digest } of listed.parse((await ask('/approvals')).body).approvals)
    await ask(`/approvals/${id}`, {
      body: { decision, ...(decision === 'deny' ? { reason: 'Too risky' } : {}) },
      digest,
    });
};

const textOf = (message: unknown): string => (typeof message === 'string' ? message : JSON.stringify(message));

test.for(ALL_FORMATS)('%s: a model reads that a call needs an approval, and that it was denied', async (format) => {
  const lab = await startApprovals(ASK, []);
  const send = createSend(lab.url, format);
  const required = await send();
  expect(textOf(required.messages[0])).toMatch(REQUIRED);
  await decideAll(lab, 'deny');
  const denied = await send();
  expect(textOf(denied.messages[0])).toMatch(DENIED);
});

test.for(ALL_FORMATS)(
  '%s: a model reads that a pending call waits for an approval, which is no error',
  async (format) => {
    const lab = await startApprovals(ASK, []);
    const send = createSend(lab.url, format);
    const {
      request_id: requestId,
      messages,
      results: [{ pending }],
    } = await send({ prefer: 'respond-async, wait=0' });
    expect(textOf(messages[0])).toMatch(WAITING);
    expect(textOf(messages[0])).not.toMatch(/error/i);
    expect(pending).toMatchObject({ state: 'waiting_for_approval', approval: { id: expect.stringMatching(/^a_/) } });
    await decideAll(lab, 'approve');
    await expect.poll(async () => (await lab.lost(requestId)).results[0]?.outcome, DEADLINE).toBe('success');
  },
);
