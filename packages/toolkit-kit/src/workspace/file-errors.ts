import { RetryableToolError, TerminalToolError } from 'recourse-server/tools/tool-errors';
import { quotePath } from './workspace-path.ts';

/** There is no such file or directory. The hint says where to look. */
export class FileNotFoundError extends Error {
  override readonly name: string = 'FileNotFoundError';
  readonly hint: string;

  constructor(message: string, options: { readonly hint: string; readonly cause?: unknown }) {
    super(message, { cause: options.cause });
    this.hint = options.hint;
  }
}

/** The file system answered something that no other text covers: too many open files, a broken disk. */
export class FileSystemError extends Error {
  override readonly name: string = 'FileSystemError';
  /** `no`: the file was not opened, so nothing has been written. */
  readonly executed: 'no' | undefined;

  constructor(code: string, path: string, cause: unknown) {
    super(`the file system answered ${code} for ${path}.`, { cause });
    this.executed = NOT_OPENED.has(code) ? 'no' : undefined;
  }
}

// Of open(2) alone.
const NOT_OPENED: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE']);

/** The code of an error of the operating system (`ENOENT`), else undefined. */
export const errorCodeOf = (thrown: unknown): string | undefined => {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  // Node's own codes, ERR_…, hold an underscore; the system's do not.
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
};

/** What `step` gives, or undefined where the system answers with this very code. */
export const unlessCode = async <T>(code: string, step: Promise<T>): Promise<T | undefined> => {
  try {
    return await step;
  } catch (thrown) {
    if (errorCodeOf(thrown) === code) return undefined;
    throw thrown;
  }
};

/** What `step` gives; undefined where the system refuses: files come and go while they are looked at. */
export const unlessRefused = <T>(step: () => T): T | undefined => {
  try {
    return step();
  } catch (thrown) {
    if (errorCodeOf(thrown) !== undefined) return undefined;
    throw thrown;
  }
};

/** What `step` gives, or undefined where this one file or directory cannot be read: a search goes on without it. */
export const unlessUnreadable = async <T>(step: Promise<T>): Promise<T | undefined> => {
  try {
    return await step;
  } catch (thrown) {
    if (errorCodeOf(thrown) !== undefined || thrown instanceof RetryableToolError) return undefined;
    throw thrown;
  }
};

/** Runs `work`; what Node throws comes out in words for the model: Node's own messages hold paths of the host. */
export const explainFileErrors = async <T>(
  context: {
    /** As the model wrote it. */
    readonly path: string;
    /** What to throw where there is nothing under the path. */
    readonly createMissingError: (cause: unknown) => Promise<Error> | Error;
  },
  work: () => Promise<T>,
): Promise<T> => {
  try {
    return await work();
  } catch (thrown) {
    const code = errorCodeOf(thrown);
    if (code === undefined) throw thrown;
    if (code === 'ENOENT' || code === 'ENOTDIR') throw await context.createMissingError(thrown);
    throw explainCode(code, quotePath(context.path), thrown);
  }
};

const explainCode = (code: string, path: string, cause: unknown): Error => {
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return new RetryableToolError(`The service has no permission for ${path}. Choose another path.`, { cause });
    case 'ELOOP':
      return new RetryableToolError(`${path} is a loop of symbolic links. Choose another path.`, {
        cause,
      });
    case 'ENAMETOOLONG':
      return new RetryableToolError(`The path ${path} is too long. Send names of at most 255 bytes each.`, { cause });
    case 'EISDIR':
      return new RetryableToolError(`${path} is a directory, not a file. Choose the path of a file.`, { cause });
    case 'ENOSPC':
    case 'EDQUOT':
      return new TerminalToolError(`${path} was not written: the disk of the workspace is full.`, { cause });
    case 'EROFS':
      return new TerminalToolError(`${path} was not written: the workspace is read-only.`, { cause });
    default:
      return new FileSystemError(code, path, cause);
  }
};
