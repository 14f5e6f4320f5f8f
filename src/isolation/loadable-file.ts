import type { LoadedToolFile } from '../tools/directory/load-tool-file.ts';
import type { ToolFile } from '../tools/tool.ts';

/** Texts of a directory under a name: a host is sent them once. */
export type SourceSet = {
  readonly name: string;
  readonly entries: readonly (readonly [path: string, text: string])[];
  readonly toText: () => string;
};

/** A version of a tool file as a host loads it. */
export type LoadableFile = {
  readonly file: ToolFile;
  /** Its name in messages to hosts. */
  readonly version: string;
  readonly sources: SourceSet;
};

/** What came of loading a file in a host. */
export type HostLoad =
  /** `trace`: what loading it left behind that other files would meet; null where nothing. */
  | (Extract<LoadedToolFile, { kind: 'loaded' }> & { readonly trace: string | null })
  /** The file itself says so. */
  | Extract<LoadedToolFile, { kind: 'failed' }>
  /** It did not end within its time, or its process ended. */
  | { readonly kind: 'broken'; readonly reason: string }
  /** Another file is not done in this host: nothing was loaded. */
  | { readonly kind: 'refused' };

export const createSourceSet = (name: string, entries: SourceSet['entries']): SourceSet => {
  let text: string | null = null;
  return {
    name,
    entries,
    toText: () => {
      text ??= JSON.stringify(entries);
      return text;
    },
  };
};
