import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';

/** Something that exists in the workspace: looked at, and proved to lie inside. Valid only while it is held. */
export type Place = {
  /** A path that leads here; append `/name` to name an entry of a directory. */
  readonly link: string;
  /** Where it really lies, without links, below the workspace; '' for the workspace itself. */
  readonly realPath: string;
  readonly stats: Stats;
  /** Opens it to read, a regular file, and this very one. */
  readonly openFile: () => Promise<FileHandle>;
  /** Makes a file of this name in it, a directory, and opens it to write. Rejects with EEXIST where the name is taken. */
  readonly createFile: (name: string) => Promise<FileHandle>;
};

export type UsePlace<T> = (place: Place) => Promise<T>;
