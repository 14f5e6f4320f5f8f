import { test } from 'vitest';
import { answerAlone, answerInFullBatch, startIsolated } from '#test/support/hostile-tools/isolated-lab.ts';
test('x', async () => {
  const s = await startIsolated(['endless'], {LOG_LEVEL:'debug'});
  const t0 = Date.now();
  const dump = async () => { const t = await (await fetch(s.url + '/metrics')).text(); process.stderr.write((Date.now()-t0) + '\n' + t.split('\n').filter((l) => /^recourse_(tool_processes|tool_process_restarts_total.*timeout|calls_)/.test(l)).join('\n') + '\n'); };
  const iv = setInterval(dump, 1000);
  await answerAlone(s, { name: 'never_settles_there', arguments: {} });
  process.stderr.write('alone done\n');
  const to = setTimeout(() => { process.stderr.write(s.logLines().map((l) => JSON.stringify(l)).join('\n')); }, 9000);
  await answerInFullBatch(s, [{ name: 'never_settles_there', arguments: {} }]);
  process.stderr.write('batch done\n');
  clearInterval(iv); clearTimeout(to);
  await s.stopClean();
}, 15000);
