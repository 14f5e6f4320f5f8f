import { useFileAccess } from '@recourse/test-support/file-access.ts';

// The hostile cases once more, with the file tools as they are where there is no /proc/self/fd.
useFileAccess('paths');

await import('../../workspace/workspace.test.ts');
await import('./read-file-hostile.test.ts');
await import('./write-file.test.ts');
await import('../notes/notes-links.test.ts');
