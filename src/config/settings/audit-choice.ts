import { accessSync, constants, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Where audit lines go. */
export type AuditChoice =
  | { readonly kind: 'off' }
  | { readonly kind: 'stdout' }
  /** Absolute. */
  | { readonly kind: 'file'; readonly path: string };

export const AUDIT_RULE = 'must be off, stdout, or file:PATH';

/** What AUDIT says; null: it says nothing that there is. */
export const parseAudit = (text: string): AuditChoice | null => {
  if (text === 'off' || text === 'stdout') return { kind: text };
  const [, path] = /^file:(.+)$/.exec(text) ?? [];
  return path === undefined || path.endsWith('/') ? null : { kind: 'file', path: resolve(path) };
};

type AuditSettings = { readonly AUDIT: string; readonly AUDIT_REQUIRED: boolean };

export const readAuditChoice = ({ AUDIT }: Pick<AuditSettings, 'AUDIT'>): AuditChoice =>
  parseAudit(AUDIT) ?? { kind: 'off' };

/** How AUDIT contradicts AUDIT_REQUIRED, or the machine, as a predicate that says what to do; null where it does not. */
export const findAuditProblem = ({ AUDIT, AUDIT_REQUIRED }: AuditSettings): string | null => {
  const choice = readAuditChoice({ AUDIT });
  if (AUDIT.startsWith('file:~'))
    return 'has a path that begins with ~, which only a shell expands: write the absolute path';
  if (choice.kind === 'off' && AUDIT_REQUIRED)
    return 'is off, and AUDIT_REQUIRED is true: set AUDIT to file:PATH or stdout';
  return choice.kind === 'file' ? findFileProblem(choice.path) : null;
};

const findFileProblem = (path: string): string | null => {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) return `names the directory ${path}: name a file in it`;
    if (found === undefined) accessSync(dirname(path), constants.W_OK | constants.X_OK);
    else accessSync(path, constants.R_OK | constants.W_OK);
    return null;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    return `names ${path}, which this user cannot append to (${code}): create its directory, or give the user the rights to it`;
  }
};
