import { RetryableToolError } from '../../tool-errors.ts';
import { quotePath } from './workspace-path.ts';

// NTFS finds `.git` by its short name, with dots and blanks behind, and with the name of a stream (core.protectNTFS).
const GIT = /^(?:\.GIT|GIT~\d+)[. ]*(?::|$)/;

/** A name that git, or the file system of whoever checks the workspace out, could take for `.git` (CVE-2014-9390). */
const isGitName = (name: string): boolean =>
  // HFS+, APFS and case-folding ext4 and ZFS compare without case, invisible characters and compatible forms.
  GIT.test(
    name
      .normalize('NFKC')
      .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
      .toUpperCase(),
  );

/**
 * Throws a RetryableToolError where a step of `path` is `.git`, by any spelling: configuration and hooks in there are
 * commands that Git runs. `written` is how the model called it. A `.git` that is a file counts, too: it names the directory.
 */
export const refuseGitPath = (path: string, written: string): void => {
  if (!path.split(/[/\\]/).some(isGitName)) return;
  throw new RetryableToolError(
    `${quotePath(written)} was not written: it belongs to a Git directory, whose files can make Git run commands. Choose a path outside of it.`,
  );
};
