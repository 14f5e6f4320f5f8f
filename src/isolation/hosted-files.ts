import type { ToolFile } from '../tools/tool.ts';
import { createHostedFile, hasOwnHosts, toGroup } from './hosted-file.ts';
import { createSourceSet, type SourceSet } from './loadable-file.ts';
import type { HostedFile, PoolMember } from './pool-records.ts';

/** The versions of tool files that serve, or that a call still needs. */
export class HostedFiles {
  readonly #files = new Map<ToolFile, HostedFile>();
  /** Also of versions that are gone: a call that was let in before still needs what was learned of them. */
  readonly #known = new WeakMap<ToolFile, HostedFile>();
  readonly #directories = new WeakMap<ToolFile['sources'], SourceSet>();
  #named = 0;

  create(file: ToolFile, granted: readonly string[] = []): HostedFile {
    this.#named += 1;
    let sources = this.#directories.get(file.sources);
    if (sources === undefined) {
      sources = createSourceSet(`directory ${this.#named}`, [...file.sources]);
      this.#directories.set(file.sources, sources);
    }
    const hosted = createHostedFile(file, String(this.#named), sources, granted);
    this.#files.set(file, hosted);
    this.#known.set(file, hosted);
    return hosted;
  }

  /** A call may still come for a version that is gone: it was let in before. */
  find(file: ToolFile): HostedFile {
    const serving = this.#files.get(file);
    if (serving !== undefined) return serving;
    const hosted = this.#known.get(file) ?? this.create(file);
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

  /** A file that may have another host without a call for it, of the group that has the fewest. */
  findLeastServed(members: Iterable<PoolMember>, now: number): HostedFile | null {
    const counts = Map.groupBy(members, ({ group }) => group);
    let least: HostedFile | null = null;
    let fewest = Number.POSITIVE_INFINITY;
    for (const hosted of this.#files.values()) {
      const count = counts.get(toGroup(hosted, now))?.length ?? 0;
      if (!hosted.isLoaded || hosted.retired || hosted.restartAt > now || count >= fewest) continue;
      // A host of its own would end unused, and start again.
      if (hasOwnHosts(hosted, now)) continue;
      [least, fewest] = [hosted, count];
    }
    return least;
  }
}
