import { expect, test } from 'vitest';
import * as z from 'zod';
import { type RunningService, startService } from '#test/support/start-service.ts';

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
  const service = await startService({ SLACK_BOT_TOKEN: 'xoxb-not-used', GOOGLE_SUBJECT: 'ann@example.com' });
  try {
    expect(await namesOf(service)).toBe('echo fetch_url list_files read_file search_files write_file');
    const msg = 'setting has no effect: TOOL_GROUPS names none of its groups';
    expect(warningsOf(service)).toEqual([
      { setting: 'GOOGLE_SUBJECT', groups: ['drive', 'mail', 'calendar'], msg },
      { setting: 'SLACK_BOT_TOKEN', groups: ['slack'], msg },
    ]);
  } finally {
    await service.stop();
  }
});

test('a group that is not set up is offered, and warned of', async () => {
  const service = await startService({ TOOL_GROUPS: 'mail, slack' });
  try {
    expect(await namesOf(service)).toBe(
      'echo fetch_url list_emails list_files list_slack_channels post_slack_message read_file search_emails search_files write_file',
    );
    const msg = 'tool group is not set up: its calls will say so';
    expect(warningsOf(service)).toEqual([
      { setting: 'GOOGLE_CREDENTIALS_PATH', groups: ['mail'], msg },
      { setting: 'SLACK_BOT_TOKEN', groups: ['slack'], msg },
    ]);
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
