import { spawnSync } from 'node:child_process';
import { existsSync, globSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Builds the service into `dist` and each package into its own `dist`: JavaScript by one run of tsc over all of them, the files
// that are not TypeScript beside it, and the bundles: what tool hosts start from, and the script of the console's page. Usage: node scripts/build.ts

const ROOT = fileURLToPath(new URL('..', import.meta.url));
// Where tsconfig.build.json puts what tsc writes: `src/…` and `packages/NAME/src/…`.
const COMPILED = 'node_modules/.cache/recourse/build';

/** The folders that have a `src`, from the root on: the service's own, and one for each package. */
const listUnits = (): readonly string[] => ['.', ...globSync('packages/*', { cwd: ROOT }).sort()];

const run = (command: string, ...args: readonly string[]): void => {
  const { error, status } = spawnSync(command, args, { cwd: ROOT, stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}.`);
};

const units = listUnits();
rmSync(join(ROOT, COMPILED), { recursive: true, force: true });
for (const unit of units) rmSync(join(ROOT, unit, 'dist'), { recursive: true, force: true });
run('tsc', '-p', 'tsconfig.build.json');
for (const unit of units) {
  const compiled = join(ROOT, COMPILED, unit, 'src');
  if (existsSync(compiled)) renameSync(compiled, join(ROOT, unit, 'dist'));
  run(process.execPath, 'scripts/copy-assets.ts', join(unit, 'src'), join(unit, 'dist'));
}
run(process.execPath, '-C', '@recourse/source', 'scripts/bundle.ts', 'dist');
