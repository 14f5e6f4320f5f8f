import { basename, sep } from 'node:path';
import { withLookahead } from '../describe-value.ts';

const MAX_REASON = 500;
const ABSOLUTE_PATH = /(?<![\w:/.])\/(?:[\w.@+-]+\/)+[\w.@+-]+/g;

/** Why a file cannot be used, as one line for people: no host paths, at most 500 characters to be shown. */
export const toFileReason = (text: string, root: string): string => {
  const line = text
    .replaceAll('file://', '')
    .replaceAll(root + sep, '')
    .replace(ABSOLUTE_PATH, (path) => `…/${basename(path)}`)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return withLookahead(line === '' ? 'It cannot be loaded, and it does not say why.' : line, MAX_REASON);
};
