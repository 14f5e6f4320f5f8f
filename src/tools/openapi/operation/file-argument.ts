import type { JsonSchema } from '../../../contract/tool-description.ts';
import { isRecord, type JsonRecord, memberOf, textAt } from '../document/json-record.ts';
import { toPlainText } from '../document/plain-text.ts';
import { followReferences } from '../document/references.ts';

/** What files a model may send: those whose content it gives, or also files of the workspace. */
export type Uploads = 'content' | 'workspace';

/** Whether a member of a multipart body is a file, or a list of files. */
export const toFileKind = (root: JsonRecord, source: unknown): 'one' | 'list' | null => {
  if (!isRecord(source)) return null;
  const schema = followReferences(root, source);
  if (isBinary(schema)) return 'one';
  const items = memberOf(schema, 'items');
  return isRecord(items) && isBinary(followReferences(root, items)) ? 'list' : null;
};

// OpenAPI 3.0 says it with `format`, 3.1 with what JSON Schema says of content.
const isBinary = (schema: JsonRecord): boolean =>
  schema['format'] === 'binary' ||
  (textAt(schema, 'contentMediaType') === 'application/octet-stream' && !('contentEncoding' in schema));

const CONTENT = {
  text: { type: 'string', description: 'The content, where it is text.' },
  base64: { type: 'string', description: 'The content in base64, where it is not text.' },
} as const;
const PATH = { path: { type: 'string', description: 'A file of the workspace, by its path.' } } as const;
const NAMES = {
  file_name: { type: 'string', maxLength: 255, description: 'What the API is told that the file is called.' },
  content_type: { type: 'string', maxLength: 255, description: 'The media type of the content, such as image/png.' },
} as const;

/** What a model gives for a file: exactly one of `text`, `base64` and, where the settings allow it, `path`. */
export const toFileSchema = (kind: 'one' | 'list', uploads: Uploads, described: unknown): JsonSchema => {
  const own = isRecord(described) ? toPlainText(textAt(described, 'description') ?? '') : '';
  const ways = uploads === 'workspace' ? 'text, base64 or path' : 'text or base64';
  const description = [own, `A file: give one of ${ways}.`].filter((text) => text !== '').join(' ');
  const one: JsonSchema = {
    type: 'object',
    description,
    properties: { ...CONTENT, ...(uploads === 'workspace' ? PATH : {}), ...NAMES },
    additionalProperties: false,
  };
  return kind === 'one' ? one : { type: 'array', items: one };
};
