/** A table of Markdown; each cell on one line. */
export const toMarkdownTable = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(escapeCell).join(' | ')} |`).join('\n');

const escapeCell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
