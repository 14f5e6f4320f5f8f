import { answerAlone, becomes, restartsFor, startIsolated } from '@recourse/test-support/hostile-tools/isolated-lab.ts';
import { expect, test } from 'vitest';

test('a process that keeps too much after its answer is replaced before it fails a call, and the log names its file', async () => {
  // Its own 70 to 110 MB and the 270 MiB are more than eight tenths of the limit, and less than all of it.
  const roomy = await startIsolated(['memory'], { TOOL_HOST_MEMORY_MB: '400' });
  const before = await restartsFor(roomy, 'growth');
  expect(await answerAlone(roomy, { name: 'keeps_buffers' })).toMatchObject({ success: true, value: 1 });
  await becomes(() => restartsFor(roomy, 'growth'), before + 1);
  expect(await answerAlone(roomy, { name: 'counts_what_it_keeps' })).toMatchObject({ success: true, value: 0 });
  expect(roomy.logLines()).toContainEqual(
    expect.objectContaining({ file: 'memory.ts', msg: 'tool host replaced: its memory grew and was not released' }),
  );
  await roomy.stopClean();
});
