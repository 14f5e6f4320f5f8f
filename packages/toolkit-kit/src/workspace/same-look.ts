import { lstat } from 'node:fs/promises';
import { RetryableToolError } from 'recourse-server/tools/tool-errors';
import { unlessCode, unlessUnreadable } from './file-errors.ts';
import { type Place, withPlace } from './place.ts';
import { type Entry, readEntries } from './read-entries.ts';
import type { Workspace } from './workspace.ts';
import { quotePath, toCompatible, toVisible } from './workspace-path.ts';

// Names looked at in each directory on the way, a few milliseconds' worth.
const MAX_NAMES = 2000;

type Search = { readonly use: 'read' | 'write'; readonly signal: AbortSignal };

/**
 * The path as the names on it are spelled in the workspace: a name that exists stays, another becomes the one that looks the
 * same. A Mac names its screenshots with a narrow no-break space and stores letters decomposed; models write blanks and
 * composed letters. Names that nothing looks like stay. Throws RetryableToolError where several look the same.
 */
export const findSameLook = async (workspace: Workspace, path: string, { use, signal }: Search): Promise<string> => {
  const names = path.split('/');
  for (const [depth, name] of names.entries()) {
    const reading = withPlace(workspace, names.slice(0, depth).join('/'), (place) => readOthers(place, name, signal));
    const others = await unlessUnreadable(reading);
    if (others === null) continue;
    const spelled = pickSameLook(others ?? [], name, { path, toLook: LOOKS[use] });
    // There is nothing below what is not there.
    if (spelled === null) break;
    names[depth] = spelled;
  }
  return names.join('/');
};

/** The entries of a directory that has none of this very name; null: it has one. */
const readOthers = async (directory: Place, name: string, signal: AbortSignal): Promise<readonly Entry[] | null> => {
  const exact = await unlessCode('ENOENT', lstat(`${directory.link}/${name}`));
  return exact === undefined ? (await readEntries(directory, MAX_NAMES, signal)).entries : null;
};

type ToLook = (name: string) => string;

const LOOKS = {
  read: toCompatible,
  // Compatible forms may be other names: a write to CO2.md does not replace CO₂.md.
  write: (name) => toVisible(name.normalize('NFC')).replace(/\p{Zs}/gu, ' '),
} as const satisfies Record<Search['use'], ToLook>;

const pickSameLook = (
  entries: readonly Entry[],
  name: string,
  { path, toLook }: { readonly path: string; readonly toLook: ToLook },
): string | null => {
  const look = toLook(name);
  const alike = entries.filter((entry) => toLook(entry.name) === look).map((entry) => entry.name);
  if (alike.length <= 1) return alike[0] ?? null;
  const shown = alike.slice(0, MAX_SHOWN).map((each) => `"${toAscii(each)}"`);
  throw new RetryableToolError(
    `${quotePath(path)} is ambiguous: ${alike.length} names look like ${quotePath(name)}. As JSON texts they are ${shown.join(', ')}. Send one of them exactly.`,
  );
};

const MAX_SHOWN = 5;

const toAscii = (name: string): string =>
  JSON.stringify(name)
    .slice(1, -1)
    .replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
