import { loadConfig } from 'recourse-server/internal/config/settings/config.ts';
import { expect, test } from 'vitest';
import { extension } from '#src/toolkit-shell.ts';

test('without settings everything stands at its documented default', () => {
  const { config } = loadConfig({});
  const own = Object.entries(config).filter(([name]) => Object.hasOwn(extension.settings, name));
  expect(Object.fromEntries(own)).toEqual({
    SHELL_BWRAP_PATH: 'bwrap',
    SHELL_TIMEOUT_MS: 30_000,
    SHELL_CPU_SECONDS: 30,
    SHELL_MEMORY_MB: 512,
    SHELL_MAX_PROCESSES: 64,
    SHELL_OUTPUT_BYTES: 65_536,
    SHELL_EPOLL: false,
  });
});
