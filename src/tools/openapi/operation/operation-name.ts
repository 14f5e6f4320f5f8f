import { createHash } from 'node:crypto';
import type { DocumentedOperation } from './list-operations.ts';

// What every provider carries.
const MOST_CHARACTERS = 64;
const HASH_CHARACTERS = 8;

/** `get /repos/{owner}/issues` → `get_repos_owner_issues`: what stands for an operationId that is not there. */
export const toDerivedId = ({ method, path }: Pick<DocumentedOperation, 'method' | 'path'>): string =>
  `${method}${path}`.replace(/[^A-Za-z0-9]+/g, '_').replace(/_+$/, '');

/**
 * `{prefix}_{operationId}` in the letters that every provider carries. What is too long is cut, with a hash of the
 * whole at its end, so that two long names stay two and one name stays the same.
 */
export const toOperationToolName = (prefix: string, id: string): string => {
  const whole = prefix === '' ? id : `${prefix}_${id}`;
  const carried = whole.replace(/[^A-Za-z0-9_-]/g, '_');
  const name = /^[A-Za-z_]/.test(carried) ? carried : `_${carried}`;
  if (name.length <= MOST_CHARACTERS) return name;
  const hash = createHash('sha256').update(whole).digest('hex').slice(0, HASH_CHARACTERS);
  return `${name.slice(0, MOST_CHARACTERS - HASH_CHARACTERS - 1)}_${hash}`;
};
