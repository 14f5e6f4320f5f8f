import { RetryableToolError } from '../tools/tool-errors.ts';
import { unlessUnreadable } from './file-errors.ts';
import { withPlace } from './place.ts';
import { type Entry, readEntries } from './read-entries.ts';
import type { Workspace } from './workspace.ts';
import { quotePath } from './workspace-path.ts';

// Names looked at in each directory on the way, a few milliseconds' worth.
const MAX_NAMES = 2000;

/**
 * The path as the names on it are spelled in the workspace, where each has one that looks the same: equal under NFKC without
 * invisible characters. A Mac names its screenshots with a narrow no-break space and stores letters decomposed; models write
 * blanks and composed letters. Names that nothing looks like stay. Throws RetryableToolError where several look the same.
 */
export const findSameLook = async (workspace: Workspace, path: string, signal: AbortSignal): Promise<string> => {
  let found = '';
  for (const name of path.split('/')) {
    const reading = withPlace(workspace, found, (place) => readEntries(place, MAX_NAMES, signal));
    const entries = (await unlessUnreadable(reading))?.entries ?? [];
    const spelled = entries.some((entry) => entry.name === name) ? name : pickSameLook(entries, name, path);
    found = found === '' ? spelled : `${found}/${spelled}`;
  }
  return found;
};

const toLook = (name: string): string => name.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');

const pickSameLook = (entries: readonly Entry[], name: string, path: string): string => {
  const look = toLook(name);
  const alike = entries.filter((entry) => toLook(entry.name) === look).map((entry) => entry.name);
  if (alike.length <= 1) return alike[0] ?? name;
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
