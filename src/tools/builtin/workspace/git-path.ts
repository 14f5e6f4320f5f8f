import { RetryableToolError } from '../../tool-errors.ts';
import { quotePath } from './workspace-path.ts';

// NTFS finds `.git` by its short name, with dots and blanks behind, and with the name of a stream (core.protectNTFS).
const GIT = /^(?:\.GIT|GIT~\d+)[. ]*(?::|$)/;

// Any directory with HEAD, objects and refs is a repository, and its file `config` names commands: without HEAD it is none.
const HEAD = /^HEAD[. ]*(?::|$)/;
// By habit a repository without a work tree.
const BARE = /\.GIT[. ]*(?::|$)/;

/** How HFS+, APFS and case-folding ext4 and ZFS compare names: without case, invisible characters and compatible forms. */
const fold = (name: string): string =>
  name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toUpperCase();

/**
 * Throws a RetryableToolError where a write to `path` could make or change a Git repository: a step is `.git` by any spelling
 * that git, or the file system of whoever checks the workspace out, could take for it (CVE-2014-9390), or ends in
 * `.git`, or the file is called `HEAD`. Configuration and hooks of a repository are commands that Git runs. `written` is how the
 * model called it. A `.git` that is a file counts, too: it names the directory.
 */
export const refuseGitPath = (path: string, written: string): void => {
  const steps = path.split(/[/\\]/).map(fold);
  if (!steps.some((step) => GIT.test(step) || BARE.test(step)) && !HEAD.test(steps.at(-1) ?? '')) return;
  throw new RetryableToolError(
    `${quotePath(written)} was not written: it belongs to a Git directory, whose files can make Git run commands. Choose a path outside of it.`,
  );
};
