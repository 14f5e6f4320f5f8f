import { constants, enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toInstallation } from './tools/directory/installation.ts';

const CACHE = '.cache/recourse/compiled';
const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
const { ENABLED } = constants.compileCacheStatus;

/**
 * Keeps what Node compiles for the next start, of modules that are imported from now on and of tool hosts: in `node_modules`,
 * unless NODE_COMPILE_CACHE names a place. Where that cannot be written to, a start only takes longer.
 */
export const keepCompiledCode = (environment: NodeJS.ProcessEnv): void => {
  const installation = toInstallation(PACKAGE);
  const directory = join(installation === PACKAGE ? join(PACKAGE, 'node_modules') : installation, CACHE);
  // ALREADY_ENABLED where the variable is set.
  if (enableCompileCache(directory).status === ENABLED) environment['NODE_COMPILE_CACHE'] = directory;
};
