import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileAccess } from '@recourse/test-support/file-access.ts';
import { runTool } from '@recourse/test-support/run-tool.ts';
import { isToldValue } from 'recourse-server/internal/tools/tool-values.ts';
import { createNotes } from '#src/notes-tools.ts';

export type LogLine = {
  readonly level: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
};

/** The notes tools over a directory on the real disk, with the real thread. Disposing ends the thread and removes it all. */
export type NotesLab = AsyncDisposable & {
  readonly root: string;
  /** A directory beside the notes, with `secret.md` ("the secret word is xyzzy"), that no tool may touch. */
  readonly outside: string;
  readonly log: readonly LogLine[];
  readonly at: (path: string) => string;
  readonly write: (path: string, content: string | Uint8Array) => Promise<void>;
  /** The value of a call, told or not. */
  readonly call: (tool: string, input?: Readonly<Record<string, unknown>>, signal?: AbortSignal) => Promise<unknown>;
  /** What the handler gave, as it is. */
  readonly run: (tool: string, input?: Readonly<Record<string, unknown>>) => Promise<unknown>;
  /** The paths of a search, in their order. */
  readonly find: (query: string) => Promise<readonly unknown[]>;
  readonly close: () => Promise<void>;
};

export type LabOptions = { readonly directory?: 'given' | 'unset' | 'missing' };

export const startNotesLab = async (
  files: Readonly<Record<string, string | Uint8Array>> = {},
  { directory = 'given' }: LabOptions = {},
): Promise<NotesLab> => {
  const base = await mkdtemp(join(tmpdir(), 'recourse-notes-'));
  const root = join(base, 'notes');
  const outside = join(base, 'notes-evil');
  const at = (path: string): string => join(root, path);
  const write = async (path: string, content: string | Uint8Array): Promise<void> => {
    await mkdir(dirname(at(path)), { recursive: true });
    await writeFile(at(path), content);
  };
  await mkdir(outside);
  await writeFile(join(outside, 'secret.md'), 'the secret word is xyzzy');
  if (directory !== 'missing') await mkdir(root);
  for (const [path, content] of Object.entries(files)) await write(path, content);
  const log: LogLine[] = [];
  const sayAt = (level: string) => (fields: LogLine['fields'], message: string) =>
    void log.push({ level, fields, message });
  const family = createNotes({
    directory: directory === 'unset' ? undefined : root,
    access: fileAccess(),
    log: { info: sayAt('info'), warn: sayAt('warn'), error: sayAt('error') },
  });
  const run = async (name: string, input: Readonly<Record<string, unknown>> = {}, signal?: AbortSignal) => {
    const tool = family.tools.find((one) => one.name === name);
    if (tool === undefined) throw new Error(`There is no ${name}.`);
    return runTool(tool, input, signal);
  };
  const call: NotesLab['call'] = async (name, input, signal) => {
    const given = await run(name, input, signal);
    return typeof given === 'object' && given !== null && isToldValue(given) ? given.value : given;
  };
  return {
    root,
    outside,
    log,
    at,
    write,
    run,
    call,
    find: async (query) => pathsOf(await call('search_notes', { query })),
    close: family.close,
    [Symbol.asyncDispose]: async () => {
      await family.close();
      await rm(base, { recursive: true, force: true });
    },
  };
};

/** The paths of a list. */
export const pathsOf = (value: unknown): readonly unknown[] => {
  const notes = typeof value === 'object' && value !== null && 'notes' in value ? value.notes : [];
  return (Array.isArray(notes) ? notes : []).map((note: { readonly path?: unknown }) => note.path);
};
