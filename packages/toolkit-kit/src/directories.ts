// biome-ignore-all lint/performance/noBarrelFile: with this face toolkits need not know where the workspace keeps its parts.

export {
  errorCodeOf,
  explainFileErrors as tellFileErrors,
  unlessCode,
  unlessRefused,
  unlessUnreadable,
} from './workspace/file-errors.ts';
export { explainWithNearNames as tellWithNearNames } from './workspace/missing.ts';
export { isOwnFile, type Pinned, pin, readBeginning } from './workspace/pin.ts';
export type { Place } from './workspace/place.ts';
export { readBytes, readTextPart, withPlace } from './workspace/place.ts';
export { type Entry, readPage } from './workspace/read-entries.ts';
export { type FromThread, locateThread, RequestThread, type ToThread } from './workspace/request-thread.ts';
export { findSameLook } from './workspace/same-look.ts';
export type { SearchFindings, SearchLimits } from './workspace/search-thread.ts';
export { createFileSearch, DEFAULT_SEARCH_LIMITS, type FileSearch, searchText } from './workspace/search-thread.ts';
export { createWorkspace, type FileAccess, probeFileAccess, type Workspace } from './workspace/workspace.ts';
export { quotePath, refuseGitPath, toWorkspacePath } from './workspace/workspace-path.ts';
