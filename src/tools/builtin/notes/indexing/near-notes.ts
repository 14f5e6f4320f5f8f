import { findNearestNames } from '../../../../contract/nearest-names.ts';
import { toStem } from '../parse-note.ts';
import type { NoteDatabase } from './note-database.ts';

// A suggestion is a courtesy: so many names take some 10 ms.
const MAX_NAMES = 5000;

/** Paths of notes that `wanted`, a path or a title, may have meant, the likelier ones first. */
export const findNearNotes = (database: NoteDatabase, wanted: string, most: number): readonly string[] => {
  const name = wanted.toLowerCase();
  // Its file name elsewhere, or its title in place of its path, as it was sent or as if it were a path.
  const same = [toStem(name), name].flatMap((text) => database.findSame(text, most));
  if (same.length > 0) return [...new Set(same.map(({ path }) => path))].slice(0, most);
  const latest = database.findLatest(MAX_NAMES);
  const pathsOf = new Map<string, string>();
  for (const { path, title } of latest.toReversed()) {
    pathsOf.set(title, path);
    pathsOf.set(toStem(path), path);
    pathsOf.set(path, path);
  }
  const candidates = [
    ...findNearestNames(wanted, pathsOf.keys(), most),
    ...findNearestNames(toStem(wanted), pathsOf.keys(), most),
  ];
  return [...new Set(candidates.flatMap((candidate) => pathsOf.get(candidate) ?? []))].slice(0, most);
};
