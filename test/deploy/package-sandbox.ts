import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createScriptSandbox, type Ran, type ScriptSandbox } from './script-sandbox.ts';

export type PackageSandbox = ScriptSandbox & {
  /** Runs the script. */
  readonly ensure: (environment?: Readonly<Record<string, string>>) => Ran;
  /** An apt-get that notes how it was called, does these lines and then downloads; and a dpkg-deb. */
  readonly offerPackage: (...lines: readonly string[]) => void;
  /** A dpkg-deb that unpacks the programs where Debian has them, and then does these lines. */
  readonly unpackWith: (...lines: readonly string[]) => void;
  /** Where the programs are kept. */
  readonly cache: string;
  readonly kept: () => readonly string[];
  readonly aptCalls: () => readonly string[];
};

export type OfferedPackage = {
  readonly name: string;
  readonly version: string;
  readonly programs: readonly string[];
};

/** Tries `scripts/ensure-<name>.sh` on a machine that has no program of the package; one is no more than its name. */
export const createPackageSandbox = ({ name, version, programs }: OfferedPackage): PackageSandbox => {
  const script = `scripts/ensure-${name}.sh`;
  const sandbox = createScriptSandbox(script, 'scripts/debian-package.sh');
  sandbox.command('id', 'echo 0');
  sandbox.command('mv', 'exec /bin/mv "$@"');
  const cache = join(sandbox.root, 'node_modules/.cache/recourse', name);
  const unpackWith: PackageSandbox['unpackWith'] = (...lines) =>
    sandbox.command(
      'dpkg-deb',
      '[ "$(head -n 1 "$2")" = package ] || exit 2',
      'mkdir -p "$3/usr/bin"',
      `for name in ${programs.join(' ')}; do`,
      `  echo "#!/bin/sh" >"$3/usr/bin/$name"; echo "echo $name ${version}" >>"$3/usr/bin/$name"; chmod +x "$3/usr/bin/$name"`,
      'done',
      ...lines,
    );
  return {
    ...sandbox,
    cache,
    unpackWith,
    ensure: (environment = {}) => sandbox.run(['sh', script], { SANDBOX: sandbox.root, ...environment }),
    offerPackage: (...lines) => {
      const downloads = `case "$*" in download*) echo package >${name}_${version}_amd64.deb;; esac`;
      sandbox.command('apt-get', 'echo "$*" >>"$SANDBOX/calls"', ...lines, downloads);
      unpackWith();
    },
    kept: () => readdirSync(cache).sort(),
    aptCalls: () => readFileSync(join(sandbox.root, 'calls'), 'utf8').trim().split('\n'),
  };
};
