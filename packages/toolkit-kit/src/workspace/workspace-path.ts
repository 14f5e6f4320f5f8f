import { posix } from 'node:path';
import { cutText } from 'recourse-server/tools/describe-value';
import { RetryableToolError } from 'recourse-server/tools/tool-errors';

const MAX_ECHO = 80;
// Linux's PATH_MAX; longer paths cannot be opened anyway.
const MAX_PATH_BYTES = 4096;
// Control characters, line separators, direction marks and lone surrogates: they forge lines or hide text in a log.
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]/gu;

/** A path as a message shows it: quoted, cut at 80 characters, unprintable characters escaped. */
export const quotePath = (path: string): string =>
  `'${cutText(escapeUnprintable(path.slice(0, 2 * MAX_ECHO)), MAX_ECHO)}'`;

const escapeUnprintable = (text: string): string =>
  text.replace(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * The path a model wrote as a plain path below the workspace: no `.`, no `..`, no slash at the end; `.` for the
 * workspace itself. Only text is judged here, where it leads is `withPlace`'s business.
 * Throws RetryableToolError, which says what to write instead.
 */
export const toWorkspacePath = (path: string): string => {
  if (path.includes('\0'))
    throw new RetryableToolError(`The path ${quotePath(path)} contains a NUL character. Send the path without it.`);
  if (!path.isWellFormed())
    throw new RetryableToolError(`The path ${quotePath(path)} is not valid Unicode. Send it as valid Unicode text.`);
  if (Buffer.byteLength(path) >= MAX_PATH_BYTES)
    throw new RetryableToolError(
      `The path ${quotePath(path)} is too long (${path.length} characters). Send a path of fewer than ${MAX_PATH_BYTES} bytes.`,
    );
  if (path.startsWith('/'))
    throw new RetryableToolError(
      `${quotePath(path)} is an absolute path. Send a path relative to the workspace, for example 'notes.md'.`,
    );
  const normal = posix.normalize(path).replace(/\/$/, '');
  if (normal === '..' || normal.startsWith('../'))
    throw new RetryableToolError(
      `${quotePath(path)} leads out of the workspace. Send a path relative to the workspace, without '..'.`,
    );
  return normal;
};

// NTFS finds `.git` by its short name, with dots and blanks behind, and with the name of a stream (core.protectNTFS).
const GIT = /^(?:\.GIT|GIT~\d+)[. ]*(?::|$)/;

// Any directory with HEAD, objects and refs is a repository, and its file `config` names commands: without HEAD it is none.
const HEAD = /^HEAD[. ]*(?::|$)/;
// By habit a repository without a work tree.
const BARE = /\.GIT[. ]*(?::|$)/;

/** A name without its invisible characters. */
export const toVisible = (name: string): string => name.replace(/\p{Default_Ignorable_Code_Point}/gu, '');

/** A name without its invisible characters, and each compatible form, such as ², as what it is compatible with. */
export const toCompatible = (name: string): string => toVisible(name.normalize('NFKC'));

/** How HFS+, APFS and case-folding ext4 and ZFS compare names: without case, invisible characters and compatible forms. */
const fold = (name: string): string => toCompatible(name).toUpperCase();

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
    `${quotePath(written)} was not written: it belongs to a Git directory, whose files can make Git run commands. Choose a path outside it.`,
  );
};
