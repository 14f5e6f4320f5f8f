import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readGroupFile } from './control-group.ts';

/**
 * Directories in which control groups that limit processes could be, of version 1 and 2: below the group of this service,
 * so that what binds it binds its commands, then beside it and further out. Source: cgroups(7).
 */
export const findCgroupPlaces = (): readonly string[] =>
  readMounts().flatMap(({ point, kind, options }) => {
    const isFirst = kind === 'cgroup' && options.includes('pids');
    return isFirst || kind === 'cgroup2' ? toDirectories(point, toOwnPath(isFirst ? 'pids' : '')) : [];
  });

/**
 * The group of version 1 that limits the memory of this service, and no other: a command outside of it would escape the
 * limit of the container. None where what is below a group does not count in it, as old kernels have it.
 */
export const findOwnMemoryGroups = (): readonly string[] =>
  readMounts()
    .filter(({ kind, options }) => kind === 'cgroup' && options.includes('memory'))
    .flatMap(({ point }) => toDirectories(point, toOwnPath('memory')))
    .filter((directory) => isOwn(directory) && readGroupFile(directory, 'memory.use_hierarchy')?.trim() !== '0');

const isOwn = (directory: string): boolean =>
  (readGroupFile(directory, 'cgroup.procs') ?? '').split('\n').includes(String(process.pid));

const readMounts = () =>
  readLines('/proc/self/mounts').map((line) => {
    const [, point = '', kind, options = ''] = line.split(' ');
    return { point, kind, options: options.split(',') };
  });

/** Of the lines `8:pids:/some/path` and, in version 2, `0::/some/path`. */
const toOwnPath = (controller: string): string => {
  const lines = readLines('/proc/self/cgroup').map((line) => line.split(':'));
  const own = lines.find(([, names = '']) => names.split(',').includes(controller));
  const path = own?.slice(2).join(':') ?? '/';
  // Of a process that was moved out of what its namespace shows.
  return path.includes('..') ? '/' : path;
};

const toDirectories = (point: string, own: string): readonly string[] => {
  const directories = [point];
  for (let path = own; path !== '/' && path !== '.'; path = dirname(path)) directories.splice(-1, 0, join(point, path));
  return directories;
};

const readLines = (path: string): readonly string[] => {
  try {
    return readFileSync(path, 'latin1').split('\n');
  } catch (_noSuchFile) {
    return [];
  }
};
