import { execFileSync } from 'node:child_process';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { ROOT } from '@recourse/test-support/start-process.ts';
import { expect, test } from 'vitest';

// Where the package that only speeds msgpackr up is not installed: as after `npm ci --omit=optional`.
const SCRIPT = `
  import { registerHooks } from 'node:module';
  const asked = [];
  registerHooks({
    resolve: (specifier, context, next) => {
      if (!specifier.includes('msgpackr-extract')) return next(specifier, context);
      asked.push(specifier);
      throw Object.assign(new Error('not installed'), { code: 'MODULE_NOT_FOUND' });
    },
  });
  await import('bullmq');
  const { createRequire } = await import('node:module');
  const bullmq = createRequire(import.meta.resolve('bullmq'));
  const { pack, unpack } = bullmq('msgpackr');
  console.log(JSON.stringify({ asked: asked.length > 0, data: unpack(pack({ call: 'c_1', tag: 7 })) }));
`;

test('jobs need no native part', () => {
  const answer = execFileSync(process.execPath, [...FROM_SOURCES, '--input-type=module', '--eval', SCRIPT], {
    cwd: ROOT,
  });
  expect(JSON.parse(String(answer))).toEqual({ asked: true, data: { call: 'c_1', tag: 7 } });
});
