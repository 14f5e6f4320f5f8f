import { isAbsolute, join, relative, resolve } from 'node:path';

/** A file of a directory as people open it: relative to the working directory where it lies below that. */
export const toShownPath = (directory: string, file: string): string => {
  const path = relative(process.cwd(), join(resolve(directory), file));
  return path.startsWith('..') || isAbsolute(path) ? join(directory, file) : path;
};
