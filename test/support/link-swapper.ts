import { spawn } from 'node:child_process';
import { once } from 'node:events';

// Each turn puts a new link over the old one by rename, so the name is never missing. Ends by itself, should nobody stop it.
const SWAP = `
  const { renameSync, symlinkSync } = require('node:fs');
  const [name, good, evil] = process.argv.slice(1);
  const until = Date.now() + 30_000;
  symlinkSync(good, name);
  process.stdout.write('swapping');
  while (Date.now() < until)
    for (const target of [evil, good]) { symlinkSync(target, name + '.next'); renameSync(name + '.next', name); }`;

// Something real is moved aside, a link out stands in its place for a moment, and it is put back.
const SWAP_PLACE = `
  const { renameSync, symlinkSync, unlinkSync } = require('node:fs');
  const [name, evil] = process.argv.slice(1);
  const until = Date.now() + 30_000;
  process.stdout.write('swapping');
  while (Date.now() < until) {
    renameSync(name, name + '.aside'); symlinkSync(evil, name);
    unlinkSync(name); renameSync(name + '.aside', name);
  }`;

export type SwappedLink = { readonly name: string; readonly good: string; readonly evil: string };

/** A process that makes `name` a symbolic link to `good` and to `evil` by turns, as fast as it can, until disposed. */
export const startLinkSwapper = ({ name, good, evil }: SwappedLink): Promise<AsyncDisposable> =>
  startSwapper(SWAP, name, good, evil);

/** The same with what really lies at `name`, and a link to `evil`. It may end at any point of a turn. */
export const startPlaceSwapper = ({ name, evil }: Omit<SwappedLink, 'good'>): Promise<AsyncDisposable> =>
  startSwapper(SWAP_PLACE, name, evil);

const startSwapper = async (script: string, ...words: readonly string[]): Promise<AsyncDisposable> => {
  const child = spawn(process.execPath, ['-e', script, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  await once(child.stdout, 'data');
  return {
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await exited;
    },
  };
};
