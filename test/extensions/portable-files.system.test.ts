import { useFileAccess } from '@recourse/test-support/file-access.ts';

// The hostile cases once more, with the file tools as they are where there is no /proc/self/fd.
useFileAccess('paths');

await import('../../packages/toolkit-kit/test/workspace/workspace.test.ts');
await import('../../packages/toolkit-files/test/read-file-hostile.test.ts');
await import('../../packages/toolkit-files/test/write-file.test.ts');
await import('../../packages/toolkit-notes/test/notes-links.test.ts');
