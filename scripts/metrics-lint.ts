import { collectExposition } from './metrics/collect-exposition.ts';
import { lintExposition } from './metrics/lint-exposition.ts';

const verdict = await lintExposition(await collectExposition());
if (verdict.kind === 'clean')
  console.log(`promtool has no complaint about ${verdict.metrics} metrics (${verdict.series} series).`);
else {
  console.error(`promtool check metrics complains:\n${verdict.complaints}`);
  process.exitCode = 1;
}
