import { sep } from 'node:path';

const MODULES = `${sep}node_modules${sep}`;

/**
 * The directory that holds all code of the service, given its package's own, both with a separator at the end: the outermost
 * `node_modules` above it, for package managers put its dependencies beside it or link them there; else itself.
 */
export const toInstallation = (directory: string): string => {
  const at = directory.indexOf(MODULES);
  return at === -1 ? directory : directory.slice(0, at + MODULES.length);
};
