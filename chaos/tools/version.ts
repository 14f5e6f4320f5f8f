// Replaced while the chaos runs, by a broken text and by one that says 2: see ../tool-files.ts.
export const VERSION = 1;
