import { runTool } from '@recourse/test-support/run-tool.ts';
import { createShell } from '#src/shell-tools.ts';
import { findBwrap } from './shell-lab.ts';

// Started by a test as a process of its own: one command, run by the shell tool on the workspace that it is told.
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const [, , workspaceDir = ''] = process.argv;
const limits = { timeoutMs: 20_000, cpuSeconds: 10, memoryMb: 256, maxProcesses: 32, outputBytes: 65_536 };
const family = await createShell({ workspaceDir, bwrapPath: findBwrap(), ...limits, epoll: 'refused', log });
const [tool] = family.tools;
if (tool === undefined) throw new Error(family.unavailable?.[0]?.reason);
const command = 'ls -l /proc/self/fd /proc/1/fd; echo descriptors: $(ls /proc/self/fd)';
const value = await runTool(tool, { command });
process.stdout.write(typeof value === 'object' && value !== null && 'stdout' in value ? String(value.stdout) : '');
await family.close();
