import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { ROOT } from '#test/support/start-process.ts';

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
  const answer = execFileSync(process.execPath, ['--input-type=module', '--eval', SCRIPT], { cwd: ROOT });
  expect(JSON.parse(String(answer))).toEqual({ asked: true, data: { call: 'c_1', tag: 7 } });
});
