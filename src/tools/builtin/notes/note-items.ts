import * as z from 'zod';
import { toNotePath } from './note-path.ts';

const MAX_PAGE = 1000;
const MAX_PAGE_SIZE = 50;

/** What both lists take beside their own. */
export const spanShape = {
  folder: z
    .string()
    .min(1)
    .max(1000)
    .default('.')
    .describe('Only notes in this folder and below it; "." for all notes.')
    .meta({ examples: ['projects'] }),
  page: z.int().min(1).max(MAX_PAGE).default(1).describe('Any page may be asked for, 1 for the first.'),
  page_size: z.int().min(1).max(MAX_PAGE_SIZE).default(20).describe('How many notes a page has.'),
};

/** What both lists tell of a note. */
export const noteShape = {
  path: z.string().describe('What read_note takes.'),
  title: z.string().describe("The note's title, its first heading, or its file name."),
  modified: z.string().describe('When it was last changed, ISO 8601 in UTC.'),
  size: z.int().describe('Bytes.'),
};

export const toSpan = ({
  folder,
  page,
  page_size,
}: {
  readonly folder: string;
  readonly page: number;
  readonly page_size: number;
}) => ({
  folder: toNotePath(folder),
  offset: (page - 1) * page_size,
  limit: page_size,
});

// The time of a file may be anything a file system can hold; a date cannot.
const MOST_MS = 8.64e15;

export const toNoteItem = <Row extends { readonly modifiedMs: number }>({ modifiedMs, ...rest }: Row) => ({
  ...rest,
  modified: toIsoTime(modifiedMs),
});

export const toIsoTime = (timeMs: number): string =>
  new Date(Math.max(-MOST_MS, Math.min(MOST_MS, timeMs))).toISOString();
