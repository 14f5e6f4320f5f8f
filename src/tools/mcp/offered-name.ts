import { createHash } from 'node:crypto';
import { toPortableName } from '../../contract/portable-name.ts';

const MAX_LENGTH = 64;
const DIGEST_LENGTH = 8;

const toFit = (text: string): string => text.replace(/[^A-Za-z0-9_.-]/g, '_');

/**
 * A server's tool under the name that models call it by: `{prefix}_{tool}`, every other sign an underscore. What is longer
 * than 64 signs is cut and ends with a digest of the whole, so that it stays the same and stays its own.
 */
export const toOfferedName = (prefix: string, tool: string): string => {
  const whole = prefix === '' ? tool : `${prefix}_${tool}`;
  const fit = toFit(whole);
  if (fit.length <= MAX_LENGTH) return fit;
  const digest = createHash('sha256').update(whole).digest('hex').slice(0, DIGEST_LENGTH);
  return `${fit.slice(0, MAX_LENGTH - DIGEST_LENGTH - 1)}_${digest}`;
};

/** All names under which a server's tool is shown: its own, the one that models call it by, and that as providers carry it. */
export const toShownNames = (prefix: string, tool: string): readonly string[] => {
  const offered = toOfferedName(prefix, tool);
  return [tool, offered, toPortableName(offered)];
};

const MAX_PREFIX_LENGTH = 48;

/** What stands before the names of a server's tools: `written`, or, where that is left out, the server's own name. */
export const toPrefix = (server: string, written: string | undefined): string =>
  written ?? toFit(server).slice(0, MAX_PREFIX_LENGTH);
