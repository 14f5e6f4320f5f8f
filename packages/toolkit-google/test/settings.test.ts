import { loadConfig } from 'recourse-server/internal/config/settings/config.ts';
import { expect, test } from 'vitest';
import { extension } from '#src/toolkit-google.ts';

test('without settings everything stands at its documented default', () => {
  const { config } = loadConfig({});
  const own = Object.entries(config).filter(([name]) => Object.hasOwn(extension.settings, name));
  expect(Object.fromEntries(own)).toEqual({});
});

test('the address of Google is an address of HTTP', () => {
  const loaded = loadConfig({ GOOGLE_API_URL: 'googleapis.com' });
  expect('mistakes' in loaded ? loaded.mistakes : []).toEqual([
    expect.stringMatching(
      /^GOOGLE_API_URL must be an http:\/\/ or https:\/\/ address without user name, query or fragment/,
    ),
  ]);
  expect(loadConfig({ GOOGLE_API_URL: 'http://127.0.0.1:9' }).config.GOOGLE_API_URL).toBe('http://127.0.0.1:9');
});
