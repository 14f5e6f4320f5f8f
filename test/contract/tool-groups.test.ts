import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';

const Catalogue = z.object({ tools: z.array(z.object({ name: z.string() })) });

const warningsOf = ({ logLines }: RunningService) =>
  logLines()
    .filter(({ level }) => level === 40)
    .map(({ setting, groups, msg }) => ({ setting, groups, msg }));

const namesOf = async ({ url }: RunningService): Promise<string> => {
  const { tools } = Catalogue.parse(await (await fetch(`${url}/tools`)).json());
  return tools.map(({ name }) => name).join(' ');
};

test('none of the further tools is offered unless its group is named', async () => {
  const service = await startService({ NOTES_DIR: '/nowhere/notes', GOOGLE_SUBJECT: 'ann@example.com' });
  try {
    expect(await namesOf(service)).toBe('echo fetch_url list_files read_file search_files write_file');
    const msg = 'setting has no effect: TOOL_GROUPS contains none of its groups';
    expect(warningsOf(service)).toEqual([
      { setting: 'NOTES_DIR', groups: ['notes'], msg },
      { setting: 'GOOGLE_SUBJECT', groups: ['drive', 'mail', 'calendar'], msg },
    ]);
  } finally {
    await service.stop();
  }
});

test('a group that is not set up is offered, and warned of', async () => {
  const service = await startService({ TOOL_GROUPS: 'mail, calendar' });
  try {
    expect(await namesOf(service)).toBe(
      'echo fetch_url list_calendar_events list_emails list_files read_file search_calendar_events search_emails search_files write_file',
    );
    const msg = 'tool group is not configured: its calls will fail';
    expect(warningsOf(service)).toEqual([{ setting: 'GOOGLE_CREDENTIALS_PATH', groups: ['mail', 'calendar'], msg }]);
  } finally {
    await service.stop();
  }
});

test('a credentials file that does not exist is warned of, with the place where it was looked for', async () => {
  const service = await startService({ TOOL_GROUPS: 'drive', GOOGLE_CREDENTIALS_PATH: '/nowhere/google.json' });
  try {
    expect(service.logLines().find(({ msg }) => msg === 'credentials file does not exist')).toMatchObject({
      level: 40,
      path: '/nowhere/google.json',
    });
  } finally {
    await service.stop();
  }
});
