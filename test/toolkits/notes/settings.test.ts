import { expect, test } from 'vitest';
import { loadConfig } from '#src/config/settings/config.ts';
import { notes } from '#src/toolkits/notes/notes.ts';

test('without settings everything stands at its documented default', () => {
  const { config } = loadConfig({});
  const own = Object.entries(config).filter(([name]) => Object.hasOwn(notes.settings, name));
  expect(Object.fromEntries(own)).toEqual({});
});
