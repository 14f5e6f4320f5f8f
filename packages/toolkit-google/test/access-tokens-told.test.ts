import { findLeaks } from '@recourse/test-support/google/google-credentials.ts';
import type { StandInRequest } from '@recourse/test-support/google/google-stand-in.ts';
import { expect, test } from 'vitest';
import { createCalendarTools } from '#src/calendar-tools.ts';
import { createMailTools } from '#src/mail-tools.ts';
import { callTool, startGoogleLab } from '#test/support/google-lab.ts';

const tokenOf = ({ headers }: StandInRequest): string => (headers.authorization ?? '').replace('Bearer ', '');

test('an access token that Google repeats in an event is in none of its members', async () => {
  const lab = await startGoogleLab({
    routes: [
      (request) => {
        const token = tokenOf(request);
        const link = `https://x.test/?access_token=${token}`;
        const texts = { id: token, summary: token, location: token, description: `<b>${token}</b>`, status: token };
        return { body: { items: [{ ...texts, htmlLink: link, hangoutLink: link, organizer: { email: token } }] } };
      },
    ],
  });
  const [tool] = createCalendarTools(lab);
  if (tool === undefined) throw new Error('There is no tool.');
  const end = await callTool(tool, { time_zone: 'UTC' });
  const link = 'https://x.test/?access_token=[redacted]';
  expect(end).toMatchObject({
    value: { events: [{ id: '[redacted]', description: '[redacted]', link, meeting_link: link }] },
  });
  expect(findLeaks(JSON.stringify(end))).toEqual([]);
});

test('an access token that Google repeats as the name of a label is not among the names there are', async () => {
  const lab = await startGoogleLab({
    routes: [(request) => ({ body: { labels: [{ id: 'a', name: `Bills ${tokenOf(request)}` }] } })],
  });
  const [tool] = createMailTools(lab);
  if (tool === undefined) throw new Error('There is no tool.');
  expect(await callTool(tool, { label: 'none' })).toMatchObject({
    message: "No label is called 'none'. Choose one of these: Bills [redacted].",
  });
});
