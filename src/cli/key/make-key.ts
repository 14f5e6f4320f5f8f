import { hash, randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { parseApiKey } from '../../auth/api-key.ts';
import type { KeyOptions } from './key-options.ts';

export type MadeKey = {
  /** What its owner sends: `rcs_` and 32 random bytes in base64url. */
  readonly key: string;
  /** What the service is given. */
  readonly line: string;
};

/** A new key, or what is wrong with what it is to be allowed. */
export const makeKey = ({ tenant, attributes }: KeyOptions): MadeKey | { readonly problem: string } => {
  const key = `rcs_${randomBytes(32).toString('base64url')}`;
  const line = [`${tenant}=${hash('sha256', key)}`, ...attributes].join(' ');
  const parsed = parseApiKey(line);
  return parsed.ok ? { key, line } : { problem: `The key ${parsed.mistake}.` };
};

/** Adds a line to a file of keys; only its owner may read the file where this makes it. Throws as the system does. */
export const addLine = (file: string, line: string): void => {
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const gap = before === '' || before.endsWith('\n') ? '' : '\n';
  appendFileSync(file, `${gap}${line}\n`, { mode: 0o600 });
};
