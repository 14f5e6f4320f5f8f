import { loadConfig } from 'recourse-server/internal/config/settings/config.ts';
import { expect, test } from 'vitest';
import { extension } from '#src/toolkit-notes.ts';

test('without settings everything stands at its documented default', () => {
  const { config } = loadConfig({});
  const own = Object.entries(config).filter(([name]) => Object.hasOwn(extension.settings, name));
  expect(Object.fromEntries(own)).toEqual({});
});
