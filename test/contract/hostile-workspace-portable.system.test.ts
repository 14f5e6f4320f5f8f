import { useFileAccess } from '@recourse/test-support/file-access.ts';

// The same cases with the file tools as they are where there is no /proc/self/fd.
useFileAccess('paths');

await import('./hostile-workspace.test.ts');
