import { dirname, relative, resolve } from 'node:path';
import type { ToolFile } from 'recourse-server/tools/tool';
import { HostedFile, type PoolMember } from './pool-records.ts';
import { SourceSet } from './tool-host.ts';

/** Files that share processes, and the names of the variables that they share in them; one file alone shares with none. */
export type FileGroup = { readonly files: readonly string[]; readonly variables: readonly string[] };

/** The versions of tool files that serve, or that a call still needs. */
export class HostedFiles {
  readonly #files = new Map<ToolFile, HostedFile>();
  /** Also of versions that are gone: a call that was let in before still needs what was learned of them. */
  readonly #versions = new WeakMap<ToolFile, HostedFile>();
  readonly #directories = new WeakMap<ToolFile['sources'], SourceSet>();
  #named = 0;

  create(file: ToolFile, granted: readonly string[] = []): HostedFile {
    this.#named += 1;
    let sources = this.#directories.get(file.sources);
    if (sources === undefined) {
      sources = new SourceSet(`directory ${this.#named}`, [...file.sources]);
      this.#directories.set(file.sources, sources);
    }
    const hosted = new HostedFile(file, String(this.#named), sources, granted);
    this.#files.set(file, hosted);
    this.#versions.set(file, hosted);
    return hosted;
  }

  /** A call may still come for a version that is gone: it was let in before. */
  find(file: ToolFile): HostedFile {
    const serving = this.#files.get(file);
    if (serving !== undefined) return serving;
    const hosted = this.#versions.get(file) ?? this.create(file);
    hosted.retired = true;
    this.#files.set(file, hosted);
    return hosted;
  }

  /** No call of this version will come any more, but such as have been let in. */
  retire(file: ToolFile): HostedFile | undefined {
    const hosted = this.#files.get(file);
    if (hosted !== undefined) hosted.retired = true;
    return hosted;
  }

  forget(hosted: HostedFile): void {
    if (hosted.retired && hosted.members.size === 0 && hosted.waiting.size === 0) this.#files.delete(hosted.file);
  }

  /** Forgets what nothing needs any more. */
  tidy(): void {
    for (const hosted of this.#files.values()) this.forget(hosted);
  }

  /** The files that serve, by the hosts that they may run in: `group` as in `HostedFile.groupAt`. */
  listGroups(now: number): readonly (FileGroup & { readonly group: string })[] {
    const serving = [...this.#files.values()].filter(({ isLoaded, retired }) => isLoaded && !retired);
    return [...Map.groupBy(serving, (hosted) => hosted.groupAt(now))].map(([group, hosted]) => ({
      group,
      files: hosted.map(({ file: { root, path } }) => relative(root, path)).sort(),
      variables: hosted[0]?.granted ?? [],
    }));
  }

  /** A file that may have another host without a call for it, of the group that has the fewest. */
  findLeastServed(members: Iterable<PoolMember>, now: number): HostedFile | null {
    const counts = Map.groupBy(members, ({ group }) => group);
    let least: HostedFile | null = null;
    let fewest = Number.POSITIVE_INFINITY;
    for (const hosted of this.#files.values()) {
      const count = counts.get(hosted.groupAt(now))?.length ?? 0;
      if (!hosted.isLoaded || hosted.retired || hosted.restartAt > now || count >= fewest) continue;
      // A host of its own would end unused, and start again.
      if (hosted.hasOwnHosts(now)) continue;
      [least, fewest] = [hosted, count];
    }
    return least;
  }
}

const IMPORT = /\b(?:from|import|require)\s*(?:\(\s*)?['"](\.{1,2}\/[^'"\n]+)['"]/g;
const QUOTED = /(['"`])([A-Za-z_]\w*)\1/g;

/**
 * The variables that a file is likely to ask for, of those that it would get: the names that stand as texts in it and in
 * what it imports of its directory. Known before its code runs, so that its first load finds them.
 */
export const findExpectedVariables = (
  { path, sources }: Pick<ToolFile, 'path' | 'sources'>,
  isGranted: (name: string) => boolean,
): readonly string[] => {
  const found = new Set<string>();
  // A set that grows while it is walked is walked to its end, and a circle of imports ends.
  const paths = new Set([path]);
  for (const one of paths) {
    const text = sources.get(one) ?? '';
    for (const [, , name = ''] of text.matchAll(QUOTED)) if (isGranted(name)) found.add(name);
    for (const [, specifier = ''] of text.matchAll(IMPORT)) paths.add(resolve(dirname(one), specifier));
  }
  return [...found].sort();
};
