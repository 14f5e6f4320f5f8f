const NOTE_NAME = /\.(md|markdown)$/i;

/** Whether a file of this name is taken for a note. */
export const isNoteName = (name: string): boolean => NOTE_NAME.test(name) && !name.startsWith('.');

/** What programs keep beside notes (.git, .obsidian, .trash) and what machines fill. */
const isHiddenName = (name: string): boolean => name.startsWith('.') || name === 'node_modules';

/** Whether no part of a plain path below the root is hidden. `.`, the root itself, is not. */
export const isOpenPath = (path: string): boolean => path === '.' || !path.split('/').some(isHiddenName);
