/** What stands around each match in a snippet. */
export const MARKS = { open: '«', close: '»' } as const;
