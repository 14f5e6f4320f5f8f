import { loadConfig } from 'recourse-server/internal/config/settings/config.ts';
import { expect, test } from 'vitest';
import { extension } from '#src/toolkit-slack.ts';

test('without settings everything stands at its documented default', () => {
  const { config } = loadConfig({});
  const own = Object.entries(config).filter(([name]) => Object.hasOwn(extension.settings, name));
  expect(Object.fromEntries(own)).toEqual({});
});

test('the address of Slack is an address of HTTP', () => {
  const loaded = loadConfig({ SLACK_API_URL: 'ftp://slack.com' });
  expect('mistakes' in loaded ? loaded.mistakes : []).toEqual([
    expect.stringMatching(
      /^SLACK_API_URL must be an http:\/\/ or https:\/\/ address without user name, query or fragment/,
    ),
  ]);
  expect(loadConfig({ SLACK_API_URL: 'http://127.0.0.1:9' }).config.SLACK_API_URL).toBe('http://127.0.0.1:9');
});

test('the group needs the client of Slack', () => {
  expect(extension.groups['slack']?.packages).toEqual(['@slack/web-api']);
});
