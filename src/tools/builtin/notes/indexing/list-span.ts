import * as z from 'zod';

/** A part of a list of notes. */
export type Span = {
  /** Below which folder, as a plain path; `.` for all. */
  readonly folder: string;
  readonly offset: number;
  readonly limit: number;
};

/** A note in a list, as the database has it. */
export const ListRow = z.object({ path: z.string(), title: z.string(), modifiedMs: z.number(), size: z.number() });
export type ListRow = z.output<typeof ListRow>;

/** What the paths in a folder lie between. '0' follows '/': all that begins with the folder and a slash, as bytes compare. */
export const boundsOf = (folder: string): readonly [string, string] =>
  folder === '.' ? ['', '\u{10FFFF}'] : [`${folder}/`, `${folder}0`];
