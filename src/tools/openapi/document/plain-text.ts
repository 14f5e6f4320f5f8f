// Tags of HTML that documents use; what else stands in angle brackets is a placeholder of theirs.
const TAGS =
  /<\/?(?:a|abbr|b|blockquote|br|code|dd|details|div|dl|dt|em|font|h[1-6]|hr|i|img|kbd|li|ol|p|pre|s|section|small|span|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|u|ul|var)(?:\s[^<>]*)?\/?>/gi;
const COMMENTS = /<!--[\s\S]{0,4000}?-->/g;
// Between words that stand in lines of their own.
const BREAKS: ReadonlySet<string> = new Set([
  ...[
    'br',
    'dd',
    'div',
    'dt',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'hr',
    'li',
    'ol',
    'p',
    'pre',
    'section',
    'table',
    'td',
  ],
  ...['th', 'tr', 'ul', 'blockquote', 'summary', 'details', 'dl'],
]);
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ...Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', mdash: '—', ndash: '–' }),
  ...Object.entries({ hellip: '…', rsquo: '’', lsquo: '‘', rdquo: '”', ldquo: '“', copy: '©', times: '×', bull: '•' }),
]);

/** What a document says, as text for a model: without tags of HTML and its entities. Markdown stays as it is. */
export const toPlainText = (text: string): string => {
  if (!/[<&]/.test(text)) return text.trim();
  const withoutTags = text.replace(COMMENTS, ' ').replace(TAGS, (tag) => {
    const name = /[a-z][a-z0-9]*/i.exec(tag)?.[0].toLowerCase() ?? '';
    return BREAKS.has(name) ? '\n' : '';
  });
  return withoutTags
    .replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, toCharacter)
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n[\s]*/g, '\n')
    .trim();
};

const toCharacter = (entity: string, decimal?: string, hex?: string, name?: string): string => {
  if (name !== undefined) return ENTITIES.get(name) ?? entity;
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  const isCharacter = code >= 32 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : entity;
};
