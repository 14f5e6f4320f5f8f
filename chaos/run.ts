import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { createAccounts } from './accounts.ts';
import { describeRun } from './describe-run.ts';
import { loadOptions, type Options } from './options.ts';
import { runChaos } from './run-chaos.ts';
import { startStore } from './store.ts';
import { prepareSurroundings, type Surroundings } from './surroundings.ts';
import { toEvidence, toReport } from './to-report.ts';
import { toRows } from './to-rows.ts';

const RESULTS = join(import.meta.dirname, 'results.md');

const say = (line: string): void => {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
};

const closeOnSignals = ({ close }: Surroundings): void => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => {
      say('Ending every process of the run.');
      void close('remove').finally(() => process.exit(130));
    });
};

/** Gives how many promises were broken. */
const main = async (options: Options): Promise<number> => {
  const store = await startStore();
  // Everything that is started from here on inherits it.
  setPriority(options.niceness);
  const settings = describeRun(options);
  for (const line of settings) say(line);
  const accounts = createAccounts();
  const surroundings = await prepareSurroundings(accounts, store);
  closeOnSignals(surroundings);
  // Kept until all is known to be well: the logs are the evidence.
  let fate: 'remove' | 'keep' = 'keep';
  try {
    const rows = toRows(await runChaos({ options, surroundings, accounts, say }));
    const broken = rows.filter(({ verdict }) => verdict === 'BROKEN').length;
    const report = toReport(rows, settings);
    process.stdout.write(`\n${report}\n${toEvidence(accounts)}\n`);
    if (options.record === 'results.md') writeFileSync(RESULTS, `${report}\n`);
    if (broken === 0) fate = 'remove';
    say(broken === 0 ? 'Every promise was kept.' : `${broken} promises were broken.`);
    return broken;
  } finally {
    await surroundings.close(fate);
    if (fate === 'keep') say(`Logs and ledger are kept in ${surroundings.directory}.`);
  }
};

try {
  process.exit((await main(loadOptions(process.argv.slice(2)))) === 0 ? 0 : 1);
} catch (error) {
  process.stderr.write(`chaos failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
}
