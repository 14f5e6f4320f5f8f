import { type StandInAnswer, type StandInRoute, toError } from './google-stand-in.ts';

export type StandInFile = {
  readonly id: string;
  readonly name: string;
  readonly mimeType: string;
  /** What alt=media gives, or an export. */
  readonly content?: string | Uint8Array;
  /** The target of a shortcut. */
  readonly target?: string;
};

const FILES = '/drive/v3/files';
const MODIFIED = '2026-02-05T10:30:37.000Z';

/** Drive v3 as its reference has it: `files.list` in pages, `files.get`, `alt=media` and `files.export`. */
export const createDriveRoutes = (files: readonly StandInFile[]): readonly StandInRoute[] => [
  ({ method, path, query }) => (method === 'GET' && path === FILES ? listPage(files, query) : undefined),
  ({ method, path, query }) => {
    const [, id, action] = ONE_FILE.exec(path) ?? [];
    if (method !== 'GET' || id === undefined) return undefined;
    const file = files.find((one) => one.id === decodeURIComponent(id));
    return file === undefined ? toError(404, 'notFound', `File not found: ${id}.`) : toAnswer(file, action, query);
  },
];

const ONE_FILE = /^\/drive\/v3\/files\/([^/]+)(\/export)?$/;

const toAnswer = (file: StandInFile, action: string | undefined, query: URLSearchParams): StandInAnswer => {
  if (action !== undefined) return exportFile(file, query.get('mimeType') ?? '');
  return query.get('alt') === 'media' ? download(file) : { body: toMetadata(file) };
};

/** The files whose names hold a word of the query; `nextPageToken` names the place to go on at. */
const listPage = (files: readonly StandInFile[], query: URLSearchParams): StandInAnswer => {
  const words = /name contains '((?:[^'\\]|\\.)*)'/.exec(query.get('q') ?? '')?.[1]?.replace(/\\(.)/g, '$1') ?? '';
  const matching = files.filter(({ name }) => name.toLowerCase().includes(words.toLowerCase()));
  const size = Number(query.get('pageSize') ?? '100');
  const from = /^~!!~after-(\d+)$/.exec(query.get('pageToken') ?? '~!!~after-0')?.[1];
  if (from === undefined) return { ...toError(400, 'invalid', 'Invalid Value'), body: INVALID_PAGE };
  const end = Number(from) + size;
  const more = end < matching.length ? { nextPageToken: `~!!~after-${end}` } : {};
  const page = matching.slice(Number(from), end).map(toMetadata);
  return { body: { kind: 'drive#fileList', incompleteSearch: false, files: page, ...more } };
};

const INVALID_PAGE = JSON.stringify({
  error: {
    code: 400,
    message: 'Invalid Value',
    errors: [
      {
        message: 'Invalid Value',
        domain: 'global',
        reason: 'invalid',
        location: 'pageToken',
        locationType: 'parameter',
      },
    ],
  },
});

const toMetadata = ({ id, name, mimeType, target }: StandInFile) => ({
  id,
  name,
  mimeType,
  modifiedTime: MODIFIED,
  webViewLink: `https://drive.google.com/file/d/${id}/view`,
  ...(target === undefined ? {} : { shortcutDetails: { targetId: target, targetMimeType: 'text/plain' } }),
});

const EXPORTABLE = /^application\/vnd\.google-apps\.(document|spreadsheet|presentation)$/;

const exportFile = ({ mimeType, content = '' }: StandInFile, format: string): StandInAnswer =>
  EXPORTABLE.test(mimeType)
    ? { headers: { 'content-type': format }, body: content }
    : toError(403, 'fileNotExportable', 'Export only supports Docs Editors files.');

const download = ({ mimeType, content = '' }: StandInFile): StandInAnswer =>
  EXPORTABLE.test(mimeType)
    ? toError(
        403,
        'fileNotDownloadable',
        'Only files with binary content can be downloaded. Use Export with Docs Editors files.',
      )
    : { headers: { 'content-type': mimeType }, body: content };
