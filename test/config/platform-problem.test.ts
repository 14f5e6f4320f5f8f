import { expect, test } from 'vitest';
import { toPlatformProblem } from '#src/config/read-configuration.ts';

test('Windows is refused with one sentence, every other platform is tried', () => {
  expect(['win32', 'linux', 'darwin', 'freebsd'].map(toPlatformProblem)).toEqual([
    'Windows is not supported: start the service in WSL, or run its container.',
    null,
    null,
    null,
  ]);
});
